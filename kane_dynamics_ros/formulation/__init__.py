"""From a serial chain to equations of motion: Kane, and independent witnesses."""
