"""Tests in languages with braces: honest additions are allowed, and nothing that switches existing tests off."""

import pytest

from surefoot.engine.verifier.suite.test_policy import refusal_to_weaken

JS = """import assert from 'node:assert';
import {describe, test} from 'node:test';

// The queue
describe('queue', () => {
  beforeEach(() => {
    reset();
  });

  test('adds', async () => {
    const queue = new Queue({size: 1}); // not {2
    assert.equal(queue.add(1, `a ${2} {`), 3);
  });

  test('matches', () => {
    assert.match('a{b', /[{(]\\//);
  });
});

test('last', () => {
  assert.ok(true);
});
"""
NEW_JS = """
  test('aborts', async () => {
    const controller = new AbortController();
    const task = queue.add(async () => 0, {signal: controller.signal});
    /* the reason is kept */
    controller.abort(new Error('skip it'));
    assert.equal(queue.pending, 0);
    const wait = () => {
      return delay(1);
    };
    return wait();
  });
"""
GO = """package add

import "testing"

func TestAdd(t *testing.T) {
\tcases := []struct{ a, b, want int }{
\t\t{1, 2, 3},
\t}
\tfor _, c := range cases {
\t\tif got := Add(c.a, c.b); got != c.want {
\t\t\tt.Fatalf("got %d {", got)
\t\t}
\t}
}
"""
RUST = """use super::*;

#[test]
fn adds<'a>() {
    let brace = '{';
    assert_eq!(add(1, 2), 3);
}
"""
JAVA = """class AddTest {
    @Test
    void adds() {
        assertEquals(3, add(1, 2));
    }
}
"""


def weakened(path: str, before: str, after: str) -> bool:
    return refusal_to_weaken(path, before.encode(), after.encode(), "Fix add.") != ""


@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.test.ts", JS, JS.replace("  test('matches'", f"{NEW_JS.lstrip()}\n  test('matches'")),
        ("a.test.ts", JS, JS + NEW_JS),
        ("a.test.ts", JS, JS.replace("test('last'", f"{NEW_JS}\ntest('last'")),
        ("a.test.ts", JS, JS + "\ntest.skip('not yet', () => {});\ntest.todo('more');\n"),
        ("a.test.ts", JS, JS.replace("{describe, test}", "{describe, mock, test}")),
        ("a.test.ts", JS, "import {delay} from './delay.js';\n" + JS),
        ("a.test.ts", JS, JS + "\n/** Waits. */\nfunction wait() {\n  return 1;\n}\n"),
        ("a.test.ts", JS, JS.replace("  beforeEach", "  let pending = 0;\n  beforeEach")),
        ("a.test.ts", JS, JS.replace("// The queue", "// The queue: {\n/* and more */")),
        ("a.test.ts", JS, JS + "\ntest('then exit(1) and test.only(x)', () => {});\n"),
        ("a.test.ts", JS, JS.replace("    const queue", "    use(() => {\n      return 1;\n    });\n    const queue")),
        ("lib.rs", RUST, "#![allow(clippy::all)]\n" + RUST + "\n#[cfg(test)]\nmod more {\n}\n"),
        ("add_test.go", GO, GO.replace("\t\t{1, 2, 3},\n", "\t\t{1, 2, 3},\n\t\t{0, 0, 0},\n")),
        ("add_test.go", GO, GO + '\nfunc TestMore(t *testing.T) {\n\tif short() {\n\t\tt.Skip("x")\n\t}\n}\n'),
        ("lib.rs", RUST, RUST + "\n#[test]\nfn more() {\n    if x { return; }\n}\n"),
        ("AddTest.java", JAVA, JAVA[:-2] + "\n    @Test\n    void more() {\n        return;\n    }\n}\n"),
    ],
    ids=lambda value: value.splitlines()[0][:20] if "\n" in value else value,
)  # fmt: skip
def test_existing_tests_may_be_extended(path: str, before: str, after: str) -> None:
    assert not weakened(path, before, after)


@pytest.mark.attack("forge")
@pytest.mark.req("X13")
@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.test.ts", JS, JS.replace("3)", "4)")),
        ("a.test.ts", JS, JS.replace("test('adds'", "test.skip('adds'")),
        ("a.test.ts", JS, JS.replace("describe('queue'", "describe.skip('queue'")),
        ("a.test.ts", JS, JS.replace("describe('queue'", "xdescribe('queue'")),
        ("a.test.ts", JS, JS.replace("  test('adds'", "  return;\n  test('adds'")),
        ("a.test.ts", JS, JS.replace("    const queue", "    return;\n    const queue")),
        ("a.test.ts", JS, JS.replace("    const queue", "    t.skip();\n    const queue")),
        ("a.test.ts", JS, JS.replace("    const queue", "    if (x) {\n      return;\n    }\n    const queue")),
        ("a.test.ts", JS, JS.replace("    reset();", "    this.skip();\n    reset();")),
        ("a.test.ts", JS, JS + "\nbeforeEach(function () {\n  this.skip();\n});\n"),
        ("a.test.ts", JS, JS + "\ntest.only('more', () => {});\n"),
        ("a.test.ts", JS, JS + "\ntest('more', () => {\n  process.exit(0);\n});\n"),
        ("a.test.ts", JS, "process.exit(0);\n" + JS),
        ("a.test.ts", JS, "throw new Error();\n" + JS),
        ("a.test.ts", JS, JS.replace("describe(", "/*\ndescribe(") + "*/\n"),
        ("a.test.ts", JS, JS.replace("test('last'", "`\ntest('last'") + "`;\n"),
        ("a.test.ts", JS, "if (0) {\n" + JS + "}\n"),
        ("a.test.ts", JS, JS.replace("assert.ok(true);", "")),
        ("a.test.ts", JS, JS.replace("node:test", "./fake.js")),
        ("add_test.go", GO, GO.replace("\tcases", '\tt.Skip("no")\n\tcases')),
        ("add_test.go", GO, GO + "\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n"),
        ("add_test.go", GO, GO.replace("\t\t{1, 2, 3},\n", "")),
        ("add_test.go", GO, GO.replace("t.Fatalf", "t.Logf")),
        ("lib.rs", RUST, RUST.replace("#[test]\n", "#[test]\n#[ignore]\n")),
        ("lib.rs", RUST, RUST.replace("#[test]\n", '#[cfg(feature = "x")]\n#[test]\n')),
        ("lib.rs", RUST, '#![cfg(feature = "x")]\n' + RUST),
        ("a.cpp", "#include <x>\nTEST(A, b) {\n  CHECK(1);\n}\n", "#if 0\nTEST(A, b) {\n  CHECK(1);\n}\n#endif\n"),
        ("a.cpp", "TEST(A, b) {\n  CHECK(1);\n}\n", "#if 0\nTEST(A, b) {\n  CHECK(1);\n}\n#endif\n"),
        ("a.test.ts", JS, JS + "\nconst x = `${process.exit(0)}`;\n"),
        ("a.test.ts", JS, JS.replace("    const queue", "    for (;;) {\n      break;\n    }\n    const queue")),
        ("AddTest.java", JAVA, JAVA.replace("    @Test\n", "    @Disabled\n    @Test\n")),
        ("AddTest.java", JAVA, "@Disabled\n" + JAVA),
        ("AddTest.java", JAVA, JAVA.replace("        assert", "        return;\n        assert")),
    ],
    ids=lambda value: value.splitlines()[0][:20] if "\n" in value else value,
)  # fmt: skip
def test_nothing_that_weakens_an_existing_test_passes(path: str, before: str, after: str) -> None:
    assert before != after
    assert weakened(path, before, after)


def test_the_line_that_switches_tests_off_is_named() -> None:
    after = JS.replace("    const queue", "    t.skip();\n    const queue")
    refusal = refusal_to_weaken("a.test.ts", JS.encode(), after.encode(), "Fix add.")
    assert refusal == "a.test.ts was skipped by the line 't.skip();'"
