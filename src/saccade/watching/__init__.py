"""A certified model in production: a share of rows is read in full as well, and says whether the promise holds."""
