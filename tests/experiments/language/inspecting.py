"""Evaluations by Inspect AI in this process, with a model that a test makes up."""

import gc

import pytest
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from headway_experiments.language import questions

KINDS = ("ResourceWarning", "DeprecationWarning")
QUIET = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in KINDS]
"""Inspect leaves streams to the garbage collector and uses what is deprecated: not our
errors.
"""


class Mock:
    """A model of Inspect's mock provider, which says what a test says.

    Attributes:
        says: told the prompt and how often it came before; gives a text.
        conversations: the messages of every call.
    """

    def __init__(self, says):
        self.says = says
        self.conversations = []
        self.temperatures = set()
        self.asked = {}

    def __call__(self, messages, tools, tool_choice, config):
        prompt = messages[-1].text
        before = self.asked.get(prompt, 0)
        self.asked[prompt] = before + 1
        self.conversations.append([message.text for message in messages])
        self.temperatures.add(config.temperature)
        output = ModelOutput.from_content("mockllm/model", self.says(prompt, before))
        # Else a tokenizer is fetched.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)
        return output

    @property
    def calls(self):
        return len(self.conversations)


def run(name, mock, log_dir, options=None, **parameters):
    """The log of an evaluation, after which no stream is left to warn of."""
    model = get_model("mockllm/model", custom_outputs=mock, memoize=False)
    given = {"log_dir": str(log_dir), "display": "none", **(options or {})}
    try:
        (log,) = evaluate(f"headway/{name}", model=model, task_args=parameters, **given)
    finally:
        gc.collect()
    return log


def asked(name, depths=(None,), n=4, chains=4, seed=0):
    """The questions of an evaluation by their prompts."""
    told = [
        question for d in depths for question in questions(name, d, chains, n, seed)
    ]
    return {question.prompt: question for question in told}


def metrics(log):
    (scores,) = log.results.scores
    return {name: metric.value for name, metric in scores.metrics.items()}
