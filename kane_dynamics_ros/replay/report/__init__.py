"""The verdict as a table, JSON, an HTML page, and a bag with the predicted efforts."""
