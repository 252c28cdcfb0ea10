"""A running agent goes on with settings that were read anew, as when a project is trusted or not any more."""

from pathlib import Path

from maia_kernel.settings import Flags, load
from tests.support.agents import make_agent, play

SCRIPT = """
- reply: [{tool_use: {name: Bash, input: {command: "printenv COLOUR > seen || true; pwd"}}}]
- reply: [One.]
- reply: [{tool_use: {name: Bash, input: {command: "printenv COLOUR >> seen || true; pwd"}}}]
- reply: [Two.]
- reply: [{tool_use: {name: Bash, input: {command: "printenv COLOUR >> seen || true; pwd"}}}]
- reply: [Three.]
"""
PROJECT = """{"permissions": {"allow": ["Bash"], "defaultMode": "acceptEdits"},
  "env": {"COLOUR": "blue"}, "sandbox": {"excludedCommands": ["true"]}}"""


async def test_trust_granted_and_revoked_between_prompts(tmp_path: Path) -> None:
    """Given a session, when its project is trusted and then not any more, then rules, mode, variables
    and the sandbox's settings follow from one prompt to the next; a mode chosen meanwhile stays."""
    (tmp_path / ".maia").mkdir()
    (tmp_path / ".maia" / "settings.json").write_text(PROJECT)
    agent = make_agent(tmp_path, SCRIPT)
    held = agent.settings
    session = agent.open_session()
    await play(agent, "First.", session=session)
    assert not (tmp_path / "seen").exists()
    environ = {"MAIA_MODEL": str(held.model)}
    trusted = load(tmp_path, environ=environ, home=Path.home(), flags=Flags(trust=True))
    await agent.use_settings(trusted)
    assert (agent.mode, dict(session.tools.env)) == ("acceptEdits", {})
    agent.use_mode("dontAsk")
    await agent.use_settings(held)
    assert agent.mode == "dontAsk"
    await agent.use_settings(trusted)
    assert session.tools.sandbox is not None
    await play(agent, "Second.", session=session)
    assert session.tools.sandbox.settings == trusted.sandbox != held.sandbox
    assert dict(session.tools.env) == {"COLOUR": "blue"}
    await agent.use_settings(held)
    await play(agent, "Third.", session=session)
    assert session.tools.sandbox.settings == held.sandbox
    assert dict(session.tools.env) == {}
    await agent.aclose()
