"""The keys of MAIA's files: where each value goes, what it may be, and which ones need trust.

`config.json` is MAIA's own; `settings.json` has the public names that people already know.
"""

from maia_kernel.settings import kinds
from maia_kernel.settings.kinds import Kind

# Key in `config.json` -> field of `Settings`, kind.
CONFIG: dict[str, tuple[str, Kind]] = {
    "model": ("model", kinds.word),
    "smallModel": ("small_model", kinds.word),
    "fallbackModel": ("fallback_model", kinds.texts),
    "aliases": ("aliases", kinds.mapping),
    "language": ("language", kinds.language),
    "ui": ("ui", kinds.one_of("auto", "text")),
    "maxTurns": ("max_turns", kinds.positive),
    "effort": ("effort", kinds.one_of(*kinds.EFFORTS)),
    "thinkingBudget": ("thinking_budget", kinds.count),
    "maxOutputTokens": ("max_output_tokens", kinds.positive),
    "retry.max": ("retry_max", kinds.count),
    "retry.broken": ("retry_broken", kinds.count),
    "timeout.request": ("api_timeout", kinds.seconds),
    "timeout.connect": ("connect_timeout", kinds.seconds),
    "timeout.silence": ("silence_timeout", kinds.seconds),
    "budget.tokens": ("budget_tokens", kinds.positive),
    "budget.usd": ("budget_usd", kinds.money),
    "anthropic.baseUrl": ("anthropic.base_url", kinds.url),
    "anthropic.apiVersion": ("anthropic.api_version", kinds.word),
    "ollama.url": ("ollama.url", kinds.url),
    "ollama.contextLength": ("ollama.context_length", kinds.positive),
    "ollama.keepAlive": ("ollama.keep_alive", kinds.word),
    "anthropic.authStyle": ("anthropic.auth_style", kinds.one_of("bearer", "x-api-key")),
    "secrets.shapes": ("secret_shapes", kinds.flag),
    "theme": ("", kinds.anything),
    "shell": ("", kinds.anything),
    "web.allowPrivate": ("web.allow_private", kinds.hosts),
    "web.search.url": ("web.search_url", kinds.url),
    "agents": ("", kinds.table),
    "memory": ("", kinds.table),
    "tools": ("", kinds.table),
}
CONFIG_GROUPS = frozenset(key.partition(".")[0] for key in CONFIG if "." in key)

# A project's word on these could send a key elsewhere, run something or spend more: only after trust.
CONFIG_TRUSTED = frozenset(
    {
        "anthropic",
        "budget",
        "maxTurns",
        "ollama",
        "secrets",
        "shell",
        "web",
        "agents",
        "memory",
        "tools",
    }
)

PERMISSIONS = frozenset(
    {"allow", "ask", "deny", "defaultMode", "additionalDirectories", "askReads", "askTimeout"}
    | {"disableBypassPermissionsMode", "disableAutoMode"}
)

# Keys of `settings.json` with a field of `Settings`; each is also read from other agents' files.
SETTINGS: dict[str, tuple[str, Kind]] = {
    "model": ("model", kinds.word),
    "fallbackModel": ("fallback_model", kinds.texts),
    "effortLevel": ("effort", kinds.one_of(*kinds.EFFORTS)),
}

# Documented keys that other rooms read, or that only other programs do: known, so not warned about.
SETTINGS_ELSEWHERE = frozenset(
    {"permissions", "env", "hooks", "disableAllHooks", "allowedHttpHookUrls", "sandbox", "worktree"}
    | {"httpHookAllowedEnvVars", "enableAllProjectMcpServers", "enabledMcpjsonServers"}
    | {"disabledMcpjsonServers", "allowedMcpServers", "deniedMcpServers", "enabledPlugins"}
    | {"extraKnownMarketplaces", "strictKnownMarketplaces", "blockedMarketplaces", "pluginConfigs"}
    | {"allowManagedPermissionRulesOnly", "allowManagedHooksOnly", "allowManagedMcpServersOnly"}
    | {"availableModels", "enforceAvailableModels", "modelOverrides", "alwaysThinkingEnabled"}
    | {"agent", "outputStyle", "language", "autoMemoryEnabled", "autoMemoryDirectory", "claudeMd"}
    | {"claudeMdExcludes", "autoCompactEnabled", "autoCompactWindow", "fileCheckpointingEnabled"}
    | {"plansDirectory", "cleanupPeriodDays", "skillListingBudgetFraction", "skillOverrides"}
    | {"skillListingMaxDescChars", "disableSkillShellExecution", "disableBundledSkills"}
    | {"statusLine", "subagentStatusLine", "fileSuggestion", "attribution", "apiKeyHelper"}
    | {"includeCoAuthoredBy", "includeGitInstructions", "respectGitignore", "teammateMode"}
    | {"channelsEnabled", "allowedChannelPlugins", "defaultShell", "editorMode", "theme", "tui"}
    | {"verbose", "viewMode", "disableAutoMode", "autoMode", "skipDangerousModePermissionPrompt"}
)

# Environment variable -> field, kind; the first that is set wins.
ENVIRONMENT: tuple[tuple[str, str, Kind], ...] = (
    ("MAIA_MODEL", "model", kinds.word),
    ("MAIA_SMALL_MODEL", "small_model", kinds.word),
    ("MAIA_MODE", "mode", kinds.mode),
    ("MAIA_LANGUAGE", "language", kinds.language),
    ("MAIA_UI", "ui", kinds.one_of("auto", "text")),
    ("MAIA_SANDBOX", "sandbox.enabled", kinds.flag),
    ("MAIA_MAX_TURNS", "max_turns", kinds.positive),
    ("CLAUDE_CODE_MAX_TURNS", "max_turns", kinds.positive),
    ("MAIA_EFFORT", "effort", kinds.one_of(*kinds.EFFORTS)),
    ("CLAUDE_CODE_EFFORT_LEVEL", "effort", kinds.one_of(*kinds.EFFORTS)),
    ("MAIA_THINKING_BUDGET", "thinking_budget", kinds.count),
    ("MAX_THINKING_TOKENS", "thinking_budget", kinds.count),
    ("MAIA_MAX_OUTPUT_TOKENS", "max_output_tokens", kinds.positive),
    ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "max_output_tokens", kinds.positive),
    ("MAIA_RETRY_MAX", "retry_max", kinds.count),
    ("CLAUDE_CODE_MAX_RETRIES", "retry_max", kinds.count),
    ("MAIA_RETRY_BROKEN", "retry_broken", kinds.count),
    ("MAIA_CONNECT_TIMEOUT", "connect_timeout", kinds.seconds),
    ("MAIA_SILENCE_TIMEOUT", "silence_timeout", kinds.seconds),
    ("API_TIMEOUT_MS", "api_timeout", kinds.milliseconds),
    ("ANTHROPIC_BASE_URL", "anthropic.base_url", kinds.url),
    ("OLLAMA_HOST", "ollama.url", kinds.ollama_host),
    ("OLLAMA_CONTEXT_LENGTH", "ollama.context_length", kinds.positive),
)
