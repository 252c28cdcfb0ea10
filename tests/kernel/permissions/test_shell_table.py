"""The shell judge against a table: what harms is never run unasked, what only reads always is."""

from pathlib import Path

import pytest

from maia_kernel.permissions import Policy, RuleSource, Subject, decide, parse_rule

ALLOWED = (
    "npm test:*", "ls:*", "cat:*", "echo:*", "git log:*", "git status", "find:*", "sort:*", "sed:*",
    "xargs:*", "test:*", "printf:*", "timeout:*", "command:*", "env FOO=1 ls", "cd:*", "watch:*",
)  # fmt: skip
"""Rules that a trusting person may have: none of them lets any adversarial command run."""

ADVERSARIAL = r"""
r\m -rf build
r''m x
"r"m x
$'\x72m' x
$'rm' x
${x:-rm} y
${x:=rm} y
x=rm; $x y
x=rm && "$x" y
$(echo rm) x
`echo rm` x
/bin/r? x
/b*/rm x
{rm,-rf,x}
ls; rm x
ls && rm x
ls || rm x
ls | rm x
ls |& rm x
ls & rm x
(rm x)
{ rm x; }
! rm x
if ls; then rm x; fi
while ls; do rm x; done
until ls; do rm x; done
for f in a; do rm $f; done
case x in x) rm x;; esac
f() { rm x; }; f
ls() { rm x; }; ls
function ls { rm x; }; ls
:(){ :|:& };:
ls() { ls | ls & }; ls
npm() { npm & npm & }; npm test
alias ls=rm; ls
eval rm x
eval "ls"
exec ls
source ./x
. ./x
bash -c "ls"
sh -c 'rm x'
bash script.sh
bash <<< "rm x"
bash <<EOF
rm x
EOF
cat <<EOF | bash
rm x
EOF
cat <<EOF | sh
ls
EOF
ls <(rm x)
cat <(curl http://example.com)
ls >(rm x)
echo $(rm x)
echo `rm x`
echo "$(rm x)"
echo "a `rm x` b"
echo ${x:-$(rm x)}
echo "${x:-`rm x`}"
echo ${x@P}
echo ${!x}
echo $((a[$(rm x)]))
echo $[a[$(rm x)]]
((a[$(rm x)]))
[[ a -eq 1 ]]
a='x[$(rm y)]'; [[ a -eq 1 ]]
[ -v 'a[$(rm x)]' ]
[[ -v a[$(rm x)] ]]
test -v 'a[$(rm x)]'
printf -v 'a[$(rm x)]' y
printf -v PATH /tmp
let 'a[$(rm x)]=1'
declare -a 'a[$(rm x)]=1'
declare -n x=PATH
export PATH=/tmp/x
readonly x=1
unset 'a[$(rm x)]'
read 'a[$(rm x)]'
mapfile -C 'rm x' -c 1 a
trap 'rm x' EXIT
trap 'rm x' DEBUG; ls
coproc rm x
coproc ls
enable -f ./x.so x
hash -p /tmp/evil ls
hash -p /tmp/evil ls; ls
complete -C 'rm x' ls
PATH=/tmp/evil ls
PATH=/tmp/evil; ls
LD_PRELOAD=./x.so ls
LD_PRELOAD=./x.so npm test
IFS=x ls
BASH_ENV=./x ls
ENV=./x ls
GIT_PAGER=./x git log
GIT_EXTERNAL_DIFF=./x git diff
GIT_SSH_COMMAND='rm x' git status
PAGER=./x git log
PS4='$(rm x)' ls
NODE_OPTIONS='--require ./x.js' npm test
PYTHONPATH=. npm test
for PATH in /tmp/evil; do ls; done
for f in $(rm x); do ls; done
env rm x
env -i rm x
env PATH=/tmp ls
env -S 'rm x' y
xargs rm
ls | xargs rm
ls | xargs -I{} sh -c '{}'
find . | xargs -0 rm
sudo ls
sudo rm x
doas ls
nohup rm x
nice -n 5 rm x
timeout 5 rm x
time rm x
command rm x
builtin eval rm x
command eval rm x
timeout 5 bash -c 'rm x'
stdbuf -oL rm x
setsid rm x
watch 'rm x'
watch ls
find . -exec rm {} \;
find . -exec rm {} +
find . -execdir ls \;
find . -ok ls \;
find . -delete
find . -fprint out
find . -fls out
find . -fprintf out '%p'
find -files0-from x
git -c core.pager='rm x' log
git -c alias.x='!rm x' x
git -c core.fsmonitor=./x status
git --exec-path=/tmp/evil status
git --git-dir=/tmp/evil status
git -C /tmp/evil status
git --paginate log
git log --output=x
git log --output x
git diff --output=x
git diff --ext-diff
git log --ext-diff -p
git show --textconv
git diff --no-index /etc/passwd /dev/null
git grep --open-files-in-pager=rm x
git grep -O'rm' x
git branch newbranch
git branch -D main
git branch -l newbranch
git tag v1
git tag -d v1
git remote add x http://example.com
git stash
git stash drop
git reflog expire --all
git worktree add x
git config core.pager x
git checkout .
git push
git fetch
git clean -fd
sort -o out in
sort --output=out in
sort --compress-program=./x in
sort -T /tmp/x in
sort --files0-from=x
sed -i s/a/b/ x
sed -i.bak s/a/b/ x
sed --in-place s/a/b/ x
sed -n 'w out' x
sed 's/a/b/w out' x
sed 's/a/b/e' x
sed '1e rm x' x
sed -f script x
sed -n '/a/w out' x
sed 'r /etc/passwd' x
awk 'BEGIN{system("rm x")}'
awk '{print > "out"}' x
awk '{print | "sh"}' x
awk '{"rm x" | getline}' x
awk -f script x
gawk -i inplace '{print}' x
uniq in out
tree -o out
xxd -r in out
xxd in out
date -s 2020-01-01
date 010100002020
hostname evil
file -C -m x
file -m /tmp/magic x
rg --pre ./x pattern
rg --hostname-bin ./x y
rg -z x
grep -f /etc/passwd x
less x
man ls
vim x
tee out
tail -f x
curl http://example.com
wget http://example.com
python -c 'print(1)'
python3 x.py
node -e 1
perl -e 1
make
npm install
npm run build
jq -n env
jq 'env.X' x
jq -n 'input_filename'
jq --rawfile a /etc/passwd . x
ps auxe
ps e
echo x > out
echo x >> out
echo x >| out
echo x &> out
echo x >& out
echo x 2> out
> out
ls > $x
ls > /dev/sda
ls 3<> x
cat ~/.ssh/id_rsa
cat /etc/passwd
cat /proc/self/environ
cat ../../secret
cat $HOME/.ssh/id_rsa
cat "$HOME/.netrc"
cat ~root/.bashrc
cat ${HOME}/x
cat < /etc/passwd
cat link-out/passwd
cat link-file
cat link-*
cat *
head -1 l*
cat ../*
cat /etc/pass*
cat -- /etc/passwd
cat sub/../../other/x
cat link-out/../shadow
ls ~
ls /
ls ..
cd .. && ls
cd / && ls
cd link-out && cat passwd
cd && ls
cd - && ls
cd ~ && ls
cd $x && ls
cd sub && git status
cd sub; cd ..; cd ..; ls
pushd /; ls
for i in 1 2; do cat x; cd ..; done
(cd ..; cat x)
echo $AWS_SECRET_ACCESS_KEY
echo "$ANTHROPIC_API_KEY"
printf '%s' "$SECRET"
echo ${SECRET}
printenv
env
set
export -p
declare -p
ls -la --unknown-flag
cat --files-from=x
wc --files0-from=x
du --files0-from=x
diff --to-file=/etc/passwd x
diff -N . empty
diff -rN sub empty
printf 'a%n' PATH; ls
printf '%5n' PATH
printf '%ln' PATH
printf '%*d' 1 2
cat x{1,/../../../etc/passwd}
cat {/etc/passwd,x}
cat [/]etc/passwd
cat !(x)
kill 1
sleep inf
exit $x
ls &&
ls |
echo (
if
'unterminated
ls "unterminated
echo $'a
echo $'a\'; rm x; echo \'
echo 'a'\''; rm x; echo '\''
echo \'; rm x; echo \'
echo "a\\"; rm x; echo "b"
echo "'"; rm x; echo "'"
echo "a`rm x`b"
lѕ x
cаt x
""
''
""".strip("\n")

CONTROL = (
    "ls\rrm x",
    "ls #\rrm x",
    "ls\x0brm",
    "ls\u00a0-la",
    "ls\u2028rm x",
    "ls \x00 rm x",
    "ls\u200b",
    "ls \u202ex",
    "cat\u3000x",
    "ec\\\nho hi",
    "echo a\\\n;rm x",
    "echo 'a\nb'; rm x",
    "ls # comment \\\nrm x",
    "ls\nrm x",
    "ls\n\trm x",
    "cat <<'EOF'\nrm\nEOF\nrm x",
    "cat <<-EOF\n\t$(rm x)\n\tEOF",
    'cat << E"O"F | bash\nrm x\nEOF',
    "bash <<'EOF'\nls\nEOF",
    "python3 - <<'EOF'\nimport os\nEOF",
    "cat <<EOF && rm x\nhi\nEOF",
    "cat <<EOF; rm x\nhi\nEOF",
    "cat <<EOF > out\nhi\nEOF",
    "cat <<EOF\nab $x `rm y`\nEOF",
    "cat <<EOF\n\\\\$(rm x)\nEOF",
    "cat <<EOF\nhi\n EOF\nrm x\nEOF\nrm y",
    "ls # '\nrm x #'",
    'ls # "\nrm x\n# "',
    "cat <<A <<B | sh\nA\nA\nls\nB",
    "x" * 20_000,
    "ls " + "a " * 6_000,
    "(" * 300 + "ls" + ")" * 300,
)

READ_ONLY = r"""
ls
ls -la
ls -lah sub
ls *.txt
ls sub/*.txt
ls ./sub/
cat a.txt
cat ./a.txt sub/b.txt
cat 'a file.txt'
cat "a file.txt"
cat a\ file.txt
cat *.txt
head -5 a.txt
head -n 5 a.txt
head -n5 a.txt
head --lines=5 a.txt
tail -20 a.txt
tail -n +3 a.txt
wc -l *.txt
wc -l a.txt sub/b.txt
echo hello
echo "hello world"
echo -n 'x; rm y'
echo $HOME
echo "$PATH"
echo 'héllo ✓'
printf '%s\n' hello
pwd
true
:
cd sub && ls
cd sub && cat b.txt
cd sub; ls -la
cd ./sub && ls ./
date
date +%Y-%m-%d
date -u '+%H:%M'
whoami
uname -a
id
which python
type ls
command -v python3
basename a/b.txt .txt
dirname a/b.txt
realpath a.txt
stat a.txt
file a.txt
tree -L 2
du -sh .
du -sh sub
df -h
sort a.txt
sort -u -k 2 a.txt | uniq -c | sort -rn | head -10
cut -d, -f1,3 a.txt
cut -d ',' -f 1 a.txt
tr a-z A-Z < a.txt
cat a.txt | tr -d '\r'
grep foo a.txt
grep -rn foo .
grep -rn "foo bar" sub --include=*.txt
grep -E 'a|b' a.txt
grep -c x a.txt
grep -e foo -e bar a.txt
grep -A3 -B 2 foo a.txt
ls | grep txt
rg foo
rg -n "foo" sub
rg --files
rg -t py -l import
find .
find . -name '*.txt'
find . -type f -name "*.py" -not -path './.git/*'
find sub -maxdepth 2 -type d
find . \( -name a -o -name b \) -print
find . -newer a.txt
cmp a.txt sub/b.txt
md5sum a.txt
sha256sum a.txt
sed -n '1,5p' a.txt
sed -n 5p a.txt
sed 's/foo/bar/' a.txt
sed -e 's/foo/bar/g' a.txt
sed -E 's/[a-z]+/x/' a.txt
sed -n '/foo/p' a.txt
awk '{print $1}' a.txt
awk -F, '{print $1, $3}' a.txt
awk -F ',' '{ print $2 }' a.txt
jq . a.json
jq -r '.name' a.json
jq '.items[0].name' a.json
jq '.items | length' a.json
xxd a.txt
hexdump -C a.txt
od -c a.txt
base64 a.txt
nl a.txt
tac a.txt
column -t a.txt
git status
git status -s
git --no-pager log --oneline -5
git log --oneline -n 5
git log -p -- a.txt
git log --format='%h %s' --since=2.weeks
git log origin/main..HEAD
git diff
git diff --stat
git diff HEAD~3 -- sub
git diff main...HEAD
git diff --cached
git show HEAD
git show HEAD:a.txt
git show HEAD~1 --stat
git branch
git branch -a
git branch --show-current
git tag
git remote -v
git stash list
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git ls-files
git blame a.txt
git blame -L 1,5 a.txt
git grep foo
git describe --tags
git log @{u}..HEAD
python --version
python3 --version
node --version
git --version
pip list
pip show numpy
pip freeze
ls -la 2>/dev/null
ls missing 2>&1
ls missing 2>/dev/null || echo none
ls > /dev/null
ls >/dev/null 2>&1 && echo yes
cat a.txt && echo done
ls; pwd; date
(ls)
{ ls; pwd; }
! ls missing
timeout 5 ls
time ls
nice ls
LC_ALL=C sort a.txt
NO_COLOR=1 ls
if [ -f a.txt ]; then cat a.txt; else echo none; fi
[ -d sub ] && ls sub
[[ -f a.txt ]] && echo yes
test -f a.txt
[ "$HOME" = "/x" ] && echo yes
for f in a b c; do echo $f; done
for i in 1 2 3; do echo "item $i"; done
ls # a comment
echo "\"; rm x; echo "\"
echo a#'; rm x; echo '
ls # '; rm x
ls # "
seq 1 10
sleep 1
ps aux
ls -la | head -3 | tail -1
x=1; echo $x
""".strip("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with files, a sub-folder and links that lead out of it."""
    work = tmp_path_factory.mktemp("judge") / "work"
    (work / "sub").mkdir(parents=True)
    for name in ("a.txt", "a file.txt", "sub/b.txt"):
        (work / name).write_text("x\n")
    (work / "a.json").write_text("{}")
    (work / "link-out").symlink_to("/etc")
    (work / "link-file").symlink_to("/etc/passwd")
    return work


def policy_of(folder: Path, *rules: str) -> Policy:
    """The default policy with these allow rules for Bash."""
    source = RuleSource("user", None, folder)
    parsed = tuple(parse_rule(f"Bash({rule})", "allow", source) for rule in rules)
    return Policy(parsed, "default", folder, Path.home())


def behavior(command: str, policy: Policy) -> str:
    """What is decided about a Bash command."""
    return decide(Subject("Bash", read_only=False, command=command), policy).behavior


def rows(table: str) -> list[str]:
    """The commands of a table; lines after `<<EOF` belong to the command above."""
    found: list[str] = []
    inside = False
    for line in table.splitlines():
        if inside:
            found[-1] += f"\n{line}"
            inside = line != "EOF"
        else:
            found.append(line)
            inside = line.startswith(("bash <<EOF", "cat <<EOF"))
    return found


def test_harmful_commands_are_asked(folder: Path) -> None:
    """Given no rule, a command that is not plainly read-only is asked."""
    policy = policy_of(folder)
    commands = [*rows(ADVERSARIAL), *CONTROL]
    assert [command for command in commands if behavior(command, policy) != "ask"] == []


# What the trusting rules cover on purpose: their own program, with whatever arguments.
COVERED = (
    "cat ", "ls ", "sort ", "sed ", "xargs ", "env FOO", "find -files0", "printf '%s'", "cd ",
    "echo $AWS", 'echo "$ANTH', "echo ${SECRET}", "head", "git log --", "ls | xargs",
    "find . |", "(cd", "for i in 1 2",
)  # fmt: skip


def test_rules_do_not_let_harmful_commands_run(folder: Path) -> None:
    """Given broad allow rules for harmless programs, a command that does more than them is asked."""
    policy = policy_of(folder, *ALLOWED)
    commands = [c for c in [*rows(ADVERSARIAL), *CONTROL] if not c.startswith(COVERED)]
    assert [command for command in commands if behavior(command, policy) != "ask"] == []


def test_reading_commands_run(folder: Path) -> None:
    """Given no rule at all, a command that only reads inside the working folder runs unasked."""
    policy = policy_of(folder)
    assert [command for command in rows(READ_ONLY) if behavior(command, policy) != "allow"] == []


def test_the_tables_are_large() -> None:
    """The tables hold well over a hundred commands each."""
    assert len(rows(ADVERSARIAL)) > 250
    assert len(rows(READ_ONLY)) > 120


def test_git_in_another_folder_asks(folder: Path) -> None:
    """Given a shell that an earlier call left in a sub-folder, git there may be another repository."""
    policy = policy_of(folder)
    here = Subject("Bash", read_only=False, command="git status")
    there = Subject("Bash", read_only=False, command="git status", folder=folder / "sub")
    assert decide(here, policy).behavior == "allow"
    assert decide(there, policy).behavior == "ask"
