"""Processes that generate sequences and know their own next-token probabilities exactly."""

from attnlab.configuration.registry import Registry
from attnlab.generators.base import AbstractGenerator as AbstractGenerator
from attnlab.generators.base import Draw as Draw
from attnlab.generators.base import Shared as Shared
from attnlab.generators.base import beliefs as beliefs
from attnlab.generators.base import check_has_law as check_has_law
from attnlab.generators.base import continue_sequence as continue_sequence
from attnlab.generators.base import draw_many as draw_many
from attnlab.generators.base import draw_tokens as draw_tokens
from attnlab.generators.base import log_predictives as log_predictives
from attnlab.generators.base import loss_mask_of as loss_mask_of
from attnlab.generators.base import predicted_count as predicted_count
from attnlab.generators.base import predictions_from as predictions_from
from attnlab.generators.base import sample as sample
from attnlab.generators.bijection import Bijection as Bijection
from attnlab.generators.cards import Cards as Cards
from attnlab.generators.causal_tree import CausalTree as CausalTree
from attnlab.generators.custom import Custom as Custom
from attnlab.generators.display import NO_LAW as NO_LAW
from attnlab.generators.display import Outline as Outline
from attnlab.generators.display import RuleTable as RuleTable
from attnlab.generators.dotmod import DotMod as DotMod
from attnlab.generators.hidden_chain import AbstractHiddenChain as AbstractHiddenChain
from attnlab.generators.hidden_chain import HiddenChain as HiddenChain
from attnlab.generators.hidden_chain import as_hidden_chain as as_hidden_chain
from attnlab.generators.hidden_chain import noisy as noisy
from attnlab.generators.hidden_chain import product as product
from attnlab.generators.hmm import HiddenMarkov as HiddenMarkov
from attnlab.generators.in_context_markov import InContextMarkov as InContextMarkov
from attnlab.generators.induction import Induction as Induction
from attnlab.generators.letters import Copy as Copy
from attnlab.generators.letters import Reverse as Reverse
from attnlab.generators.letters import Shift as Shift
from attnlab.generators.letters import Sort as Sort
from attnlab.generators.letters import Translate as Translate
from attnlab.generators.markov import Markov as Markov
from attnlab.generators.maximum import Maximum as Maximum
from attnlab.generators.modular_addition import ModularAddition as ModularAddition
from attnlab.generators.named_chains import NAMED
from attnlab.generators.named_chains import Even as Even
from attnlab.generators.named_chains import GoldenMean as GoldenMean
from attnlab.generators.named_chains import LeakyRandomRandomXor as LeakyRandomRandomXor
from attnlab.generators.named_chains import Mess3 as Mess3
from attnlab.generators.named_chains import Parentheses as Parentheses
from attnlab.generators.named_chains import ProductChain as ProductChain
from attnlab.generators.named_chains import RandomRandomXor as RandomRandomXor
from attnlab.generators.named_chains import SimpleNonunifilar as SimpleNonunifilar
from attnlab.generators.named_chains import ZeroOneRandom as ZeroOneRandom
from attnlab.generators.ndays import NDays as NDays
from attnlab.generators.own_sequences import OwnSequences as OwnSequences
from attnlab.generators.recall import Recall as Recall
from attnlab.generators.recall_pairs import RecallPairs as RecallPairs
from attnlab.generators.tasks import AbstractTask as AbstractTask
from attnlab.generators.tasks import as_task as as_task
from attnlab.generators.tasks import is_source as is_source
from attnlab.generators.tasks import is_task as is_task
from attnlab.generators.tasks import read_source as read_source
from attnlab.generators.tasks import true_dependence as true_dependence
from attnlab.generators.tasks import write_source as write_source

# Hidden Markov processes of the literature, and their products.
CHAINS = Registry((*NAMED, ProductChain))
# Processes in which each sequence draws its own rule.
IN_CONTEXT = Registry((InContextMarkov, Induction, RecallPairs, Bijection, CausalTree))
GENERATORS = Registry(
    (
        *(Markov, Recall, NDays, DotMod, HiddenMarkov, HiddenChain),
        *CHAINS.values(),
        *IN_CONTEXT.values(),
        ModularAddition,
        Maximum,
        Custom,
        OwnSequences,
    )
)
TASKS = Registry((Cards, Copy, Reverse, Shift, Sort, Translate))
# Every process that can generate the sequences of an experiment.
PROCESSES = Registry(parts=(GENERATORS, TASKS))
