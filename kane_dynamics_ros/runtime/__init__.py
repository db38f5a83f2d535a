"""Load a generated module, compiled or pure Python, as one DynamicsModel."""
