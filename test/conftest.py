"""Its presence lets every test import the shared helpers that lie beside it."""
