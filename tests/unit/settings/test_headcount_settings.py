"""`headcount.toml` and the environment: what is read, what is refused, and that every key is documented."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest

from headcount.app.settings_file import find_settings, read_settings
from headcount.domain.policy import Limits, Policy
from headcount.domain.settings import (
    SECTIONS,
    Agent,
    Agents,
    Gates,
    Integration,
    Key,
    Settings,
    Workspace,
    describe,
    parse_settings,
)
from headcount.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"
INTERFACE = """
[policy]
answer_timeout_s = 30
inspect_timeout_s = 60
judge_timeout_s = 60
nudge_timeout_s = 120
salvage_timeout_s = 300
exit_grace_s = 5
stop_grace_s = 10
finalizer_timeout_s = 60
stall_timeout_s = 1800
max_attempts = 3
max_waits = 1
on_escalation = "ask"
notify = []
max_members = 16
tasks_at_once = 1
review_rounds = 3
cleanup_retries = 1
judge = "rules"
require_merged = "run"
peer_mail = false
salvage_max_mb = 2048
salvage_ignored_max_mb = 256
keep_days = 30
keep_mb = 2048
containment = "auto"
[agents]
default = "claude"
[workspace]
setup = ""
copy = []
directory = ""

[integration]
branch = ""
sync = ""
[gates]
verify = ""
max_file_lines = 400
max_function_lines = 50
max_total_lines = 0
"""


def parse(text: str = "", **environ: str) -> Settings:
    return parse_settings(text, "headcount.toml", environ)


def refusal(text: str = "", **environ: str) -> UsageError:
    with pytest.raises(UsageError) as refused:
        parse(text, **environ)
    return refused.value


def test_the_defaults_are_those_of_the_interface() -> None:
    assert (
        parse()
        == parse(INTERFACE)
        == Settings(Policy(), Agents(), Workspace(), Integration(), Gates(), Limits())
    )


def test_every_section_is_read() -> None:
    settings = parse("""
        [policy]
        answer_timeout_s = 0.5
        judge = ["./judge.py", "-v"]
        peer_mail = true
        [agents]
        default = "codex"
        [agents.bob]
        command = ["./agent.sh", "bob"]
        [agents.alice]
        agent = "gemini"
        model = "pro"
        [integration]
        branch = "next"
        [gates]
        verify = "make test"
        [limits]
        tasks = 5
    """)
    assert settings.policy == Policy(answer_timeout_s=0.5, judge=("./judge.py", "-v"), peer_mail=True)
    assert settings.agents.default == "codex"
    assert settings.agents.workers == {
        "bob": Agent(command=("./agent.sh", "bob")),
        "alice": Agent(agent="gemini", model="pro"),
    }
    assert settings.integration == Integration(branch="next")
    assert settings.gates == Gates(verify="make test")
    assert settings.limits == Limits(tasks=5)


def test_the_environment_wins_over_the_file() -> None:
    settings = parse(
        "[policy]\nanswer_timeout_s = 7\nmax_attempts = 2",
        HEADCOUNT_POLICY_ANSWER_TIMEOUT_S="2.5", HEADCOUNT_POLICY_PEER_MAIL="true",
        HEADCOUNT_POLICY_NOTIFY='["notify-send", "hc"]', HEADCOUNT_POLICY_JUDGE="witness",
        HEADCOUNT_AGENTS_DEFAULT="codex", HEADCOUNT_GATES_MAX_FILE_LINES="0",
        HEADCOUNT_INTEGRATION_SYNC="bd sync", HEADCOUNT_LIMITS_MEMBERS="3",
    )  # fmt: skip
    assert settings.policy == Policy(
        answer_timeout_s=2.5, max_attempts=2, peer_mail=True, notify=("notify-send", "hc"), judge="witness"
    )
    assert (settings.agents.default, settings.gates.max_file_lines) == ("codex", 0)
    assert (settings.integration.sync, settings.limits.members) == ("bd sync", 3)


def test_a_password_is_taken_from_the_environment_only_and_never_shown() -> None:
    url = "postgresql://u:s3cret@h/d"
    assert parse_settings("", "headcount.toml", {"HEADCOUNT_DATABASE": url}).fleet.database == url
    wrong = (f'[fleet]\ndatabase = "{url}"', {}), ("", {"HEADCOUNT_DATABASE": "mysql://u:s3cret@h/d"})
    for text, environ in wrong:
        with pytest.raises(UsageError) as refusal:
            parse_settings(text, "headcount.toml", environ)
        assert refusal.value.code == "wrong-setting" and "s3cret" not in refusal.value.render()


def test_variables_that_are_no_settings_are_left_alone() -> None:
    assert parse(HEADCOUNT_HOME="/x", HEADCOUNT_TEAM="web", HEADCOUNT_TOKEN="t", PATH="/bin") == Settings()


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[policy]\nanswr_timeout_s = 1", "policy.answr_timeout_s in headcount.toml is not a setting",
         "Did you mean policy.answer_timeout_s?"),
        ("[polcy]\nmax_members = 1", "polcy in headcount.toml is not a section", "Did you mean policy?"),
        ("[gates]\nverfy = 'x'", "gates.verfy in headcount.toml is not a setting",
         "Did you mean gates.verify?"),
        ("[agents]\ndefalt = 'x'", "agents.defalt in headcount.toml is not a setting",
         "Did you mean agents.default?"),
        ("[agents.bob]\ncomand = ['x']", "agents.bob.comand in headcount.toml is not a setting",
         "Did you mean agents.bob.command?"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_an_error_that_asks_did_you_mean(text: str, what: str, hint: str) -> None:
    error = refusal(text)
    assert (error.code, error.what, error.hints[0]) == ("unknown-setting", what, hint)


def test_a_misspelt_variable_is_an_error_too() -> None:
    error = refusal(HEADCOUNT_POLICY_MAX_MEMBER="3")
    assert error.what == "HEADCOUNT_POLICY_MAX_MEMBER in the environment is not a setting"
    assert error.hints[0] == "Did you mean HEADCOUNT_POLICY_MAX_MEMBERS?"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("[policy]\nanswer_timeout_s = -1", "a number of seconds above 0"),
        ("[policy]\nanswer_timeout_s = 0", "a number of seconds above 0"),
        ("[policy]\nanswer_timeout_s = '30'", "a number of seconds above 0"),
        ("[policy]\nanswer_timeout_s = true", "a number of seconds above 0"),
        ("[policy]\nanswer_timeout_s = inf", "a number of seconds above 0"),
        ("[policy]\nanswer_timeout_s = nan", "a number of seconds above 0"),
        (f"[policy]\nanswer_timeout_s = 1{'0' * 400}", "a number of seconds above 0"),
        ("[policy]\nexit_grace_s = -0.1", "a number of seconds, 0 or more"),
        ("[policy]\nmax_members = 0", "a whole number, 1 or more"),
        ("[policy]\nmax_members = 2.5", "a whole number, 1 or more"),
        ("[policy]\nmax_attempts = true", "a whole number, 1 or more"),
        ("[policy]\nreview_rounds = -1", "a whole number, 0 or more"),
        ("[policy]\njudge = 'me'", '"rules", "witness", or a command as a list of texts'),
        ("[policy]\njudge = []", '"rules", "witness", or a command as a list of texts'),
        ("[policy]\njudge = ['']", '"rules", "witness", or a command as a list of texts'),
        ("[policy]\non_escalation = 'kill'", 'one of "ask", "force-kill"'),
        ("[policy]\nrequire_merged = true", 'one of "run", "always", "never"'),
        ("[policy]\npeer_mail = 1", "true or false"),
        ("[policy]\nnotify = 'x'", 'a command as a list of texts, such as ["./notify.sh", "-v"]'),
        ("[policy]\nnotify = [1]", 'a command as a list of texts, such as ["./notify.sh", "-v"]'),
        ("[agents]\ndefault = ''", "a text that is not empty"),
        ("[agents.bob]\ncommand = []", 'a command as a list of texts, such as ["./notify.sh", "-v"]'),
        ("[gates]\nverify = ['make']", "a text"),
        ("[gates]\nmax_total_lines = -1", "a whole number, 0 or more"),
        ("[limits]\ntasks = 0", "a whole number, 1 or more"),
        ("policy = 1", "a section, such as [policy]"),
    ],
)
def test_a_wrong_or_impossible_value_says_what_is_allowed(text: str, allowed: str) -> None:
    error = refusal(text)
    assert (error.code, error.why) == ("wrong-setting", f"it must be {allowed}")
    assert " in headcount.toml cannot be " in error.what


def test_zero_is_allowed_where_it_makes_sense() -> None:
    zero = ["exit_grace_s", "max_waits", "review_rounds", "task_restarts", "cleanup_retries"]
    zero.append("salvage_ignored_max_mb")
    policy = parse("[policy]\n" + "\n".join(f"{name} = 0" for name in zero)).policy
    assert [getattr(policy, name) for name in zero] == [0] * len(zero)


@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "0"])
def test_a_wrong_number_in_the_environment_is_refused_by_name(text: str) -> None:
    error = refusal(HEADCOUNT_POLICY_MAX_MEMBERS=text)
    assert error.what == f"HEADCOUNT_POLICY_MAX_MEMBERS in the environment cannot be {text!r}"


@pytest.mark.parametrize("text", ["", "yes", "2"])
def test_a_wrong_flag_in_the_environment_is_refused(text: str) -> None:
    assert refusal(HEADCOUNT_POLICY_PEER_MAIL=text).code == "wrong-setting"


@pytest.mark.parametrize("text", ["[", "[1]", "notify-send"])
def test_a_wrong_list_in_the_environment_is_refused(text: str) -> None:
    assert refusal(HEADCOUNT_POLICY_NOTIFY=text).code == "wrong-setting"


def test_a_worker_is_started_by_a_client_or_a_command_not_both() -> None:
    assert refusal("[agents.bob]\nagent = 'x'\ncommand = ['y']").what.endswith("has both agent and command")


def test_a_workers_table_has_a_members_name() -> None:
    assert refusal("[agents.lead]\nagent = 'x'").code == "reserved-name"
    assert refusal("[agents.'a.b']\nagent = 'x'").code == "invalid-member-name"


def test_what_is_not_toml_or_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "headcount.toml"
    for content in (b"[policy", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(UsageError, match=r"headcount\.toml") as refused:
            read_settings(str(path), {})
        assert refused.value.code == "unreadable-settings"
    with pytest.raises(UsageError, match="Cannot read"):
        read_settings(str(tmp_path / "none.toml"), {})


def test_settings_stand_beside_git_and_are_found_upwards(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for name in ("objects", "refs"):
        (tmp_path / ".git" / name).mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (below / "headcount.toml").write_text("")
    assert find_settings(str(below)) is None
    (tmp_path / "headcount.toml").write_text("[policy]\nmax_members = 2")
    found = find_settings(str(below))
    assert found == str(tmp_path / "headcount.toml")
    assert read_settings(found, {}).policy.max_members == 2
    assert read_settings(None, {}) == Settings()


def test_a_worktrees_git_is_a_file_and_counts(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "headcount.toml").write_text("")
    assert find_settings(str(tmp_path)) == str(tmp_path / "headcount.toml")


def test_every_field_of_every_section_is_described_with_a_variable() -> None:
    described = {key.name: key for key in describe()}
    for section, cls in SECTIONS.items():
        for item in fields(cls):
            if item.name not in ("workers", "notify_kinds"):
                key = described.pop(f"{section}.{item.name}")
                variable = f"HEADCOUNT_{section}_{item.name}".upper()
                own = {"fleet.database": "HEADCOUNT_DATABASE", "fleet.hub": "HEADCOUNT_HUB"}
                assert key.variable == own.get(key.name, variable)
                assert key.doc
                assert key.allowed
    assert set(described) == {f"agents.NAME.{item.name}" for item in fields(Agent)}


@pytest.mark.parametrize("key", [key for key in describe() if key.variable], ids=lambda key: key.name)
def test_every_default_is_allowed(key: Key) -> None:
    raw = list(key.default) if isinstance(key.default, tuple) else key.default
    assert key.kind.read(raw) == key.default


def table() -> str:
    lines = ["| key | default | may be | variable | meaning |", "|---|---|---|---|---|"]
    for key in describe():
        default = "" if not key.variable else f"`{_toml(key.default)}`"
        variable = f"`{key.variable}`" if key.variable else ""
        lines.append(f"| `{key.name}` | {default} | {key.allowed} | {variable} | {key.doc} |")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_the_reference_page_has_every_setting_as_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    start, end = "<!-- settings: begin -->\n", "<!-- settings: end -->"
    head, tail = text.split(start)[0], text.split(end)[1]
    wanted = f"{head}{start}{table()}{end}{tail}"
    if os.environ.get("HEADCOUNT_REWRITE"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted


def test_the_example_on_the_reference_page_is_read() -> None:
    example = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert parse(example).agents.workers["bob"].command == ("./agent.sh", "bob")


def test_keys_of_agents_itself_are_no_workers() -> None:
    agents = parse('[agents]\ndefault = "codex"\nterminal = true\npermissions = "full"\n').agents
    assert (agents.default, agents.terminal, agents.permissions) == ("codex", True, "full")
    assert agents.workers == {}
