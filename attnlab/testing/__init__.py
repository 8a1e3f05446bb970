"""Checks of the laws that every process and every model must obey, for use on your own.

>>> from attnlab import GRUOptions, Markov
>>> check_process(Markov(), length=3, draws=2_000)
>>> check_model(GRUOptions(hidden_size=3))
"""

from attnlab.testing.model_laws import check_model as check_model
from attnlab.testing.process_laws import check_process as check_process
from attnlab.testing.process_laws import process_laws as process_laws
