"""How hypothesis is run."""

from hypothesis import settings

# Nothing is timed against a clock: an example that compiles a kernel, or waits for another process, takes seconds.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
