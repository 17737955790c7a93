"""The paper, reproduced: simulation, experiments, report."""
