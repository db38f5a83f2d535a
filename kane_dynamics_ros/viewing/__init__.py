"""A robot and its motion as one HTML page that plays them in three dimensions."""
