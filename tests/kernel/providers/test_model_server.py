"""The scripted server of the tests is itself a program."""

import subprocess
import sys
from pathlib import Path

from maia_kernel.providers.anthropic import AnthropicProvider
from maia_kernel.providers.base import TextChunk
from maia_kernel.providers.openai import OpenAIProvider
from tests.support.replies import read

PROGRAM = Path(__file__).parents[2] / "support" / "server.py"


async def test_the_server_runs_alone_and_answers_in_both_dialects() -> None:
    """Started as a program it prints its address and answers every request, until it is ended."""
    command = [sys.executable, str(PROGRAM), "--reply", "Hello ", "--size", "600", "--chunks", "6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            providers = AnthropicProvider(base_url=url), OpenAIProvider("lab", base_url=f"{url}/v1")
            for provider in providers:
                reply = await read(provider)
                await provider.aclose()
                assert reply.message.text == "Hello " * 100
                assert sum(isinstance(c, TextChunk) and c.text != "" for c in reply.chunks) == 6
        finally:
            process.terminate()
        assert process.wait(10) == 0
