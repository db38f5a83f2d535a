"""Independent derivations that Kane's equations must agree with: Lagrange, Maggi, Gibbs-Appell."""
