"""Random walks against a boundary: how often it errs and how soon it stops."""

from saccade.study.simulation import DecisionError, StoppingTime, decision_error, stopping_time

__all__ = ["DecisionError", "StoppingTime", "decision_error", "stopping_time"]
