"""The wind water pump of [WindPump] section 5 and appendix B: a mechanism of two degrees of freedom."""
