"""The paper's experiments, run with saccade: Pelossof and Ying, 'Rapid Learning with Stochastic Focus of Attention'.

``python -m reproduction`` runs them all, prints a verdict on each claim and writes the page ``saccade.html``. This
package is part of the repository and not of the distribution.
"""
