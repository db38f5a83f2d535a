"""The kane_dynamics command: joins the rooms."""
