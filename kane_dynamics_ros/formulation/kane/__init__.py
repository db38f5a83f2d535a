"""Kane's equations of a serial chain: the product."""
