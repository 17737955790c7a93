"""Online learners over one training path: Pegasos, Perceptron, Passive-Aggressive."""
