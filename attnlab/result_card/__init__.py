"""Cards: a result with all that is needed to check it, as a file and as a picture."""

from attnlab.result_card.card import MOST_BYTES as MOST_BYTES
from attnlab.result_card.card import CardError as CardError
from attnlab.result_card.card import ResultCard as ResultCard
from attnlab.result_card.card import card_from_json as card_from_json
from attnlab.result_card.card import card_to_json as card_to_json
from attnlab.result_card.checking import CardCheck as CardCheck
from attnlab.result_card.checking import check_card as check_card
from attnlab.result_card.making import card_of_comparison as card_of_comparison
from attnlab.result_card.making import card_of_known_result as card_of_known_result
from attnlab.result_card.making import card_of_run as card_of_run
