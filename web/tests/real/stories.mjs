// Projects, tasks and the turns of a model for them. Only the model's words are written here; plans are judged, tools run,
// files change and checks pass or fail for real.

export const CHECK = 'python3 -m unittest -q';

const submit = (understanding, requirements, steps, more = {}) => [
  ['submit_understanding', { understanding, requirements, complexity: 'moderate', files: steps.flatMap((step) => step.files ?? []) }],
  ['submit_approach', { approach: 'Reproduce it with the tests that exist, change the least, and let the tests decide.', expected_outcomes: ['the tests pass'], alternatives: [{ name: 'Write the module anew' }], ...more }],
  ['submit_plan', { steps, success_criteria: [{ criterion: 'all tests pass', check: CHECK }] }],
];
const finish = (summary) => ['finish_step', { summary }];

const PROJECT = {
  'README.md': '# invoices\n\nReads invoices from CSV files and adds them up.\n\nThe first line of a file is a header. A field may be in quotes: `"Smith, Ltd"`.\n',
  'CHANGES.md': '# Changes\n\n## 1.1\n\n- Totals by customer.\n',
  'invoices/__init__.py': '',
  'invoices/fields.py': '"""Fields of a line."""\n\n\ndef split(line):\n    return line.split(",")\n',
  'invoices/rows.py': '"""Rows of a file."""\n\nfrom invoices.fields import split\n\n\ndef rows(text):\n    return [split(line) for line in text.splitlines()]\n',
  'tests/__init__.py': '',
  'tests/test_fields.py': 'import unittest\n\nfrom invoices.fields import split\n\n\nclass Fields(unittest.TestCase):\n    def test_quotes(self):\n        self.assertEqual(split(\'1,"Smith, Ltd",40\'), ["1", "Smith, Ltd", "40"])\n\n    def test_plain(self):\n        self.assertEqual(split("1,Smith,40"), ["1", "Smith", "40"])\n',
  'tests/test_rows.py': 'import unittest\n\nfrom invoices.rows import rows\n\n\nclass Rows(unittest.TestCase):\n    def test_header(self):\n        self.assertEqual(rows("id,name\\n1,Smith\\n\\n2,Jones\\n"), [["1", "Smith"], ["2", "Jones"]])\n',
  'tests/test_total.py': 'import unittest\n\nfrom invoices.total import total\n\n\nclass Total(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total("id,name,sum\\n1,Smith,40\\n2,Jones,2\\n"), 42)\n',
};

const FIELDS = '"""Fields of a line."""\n\nimport csv\n\n\ndef split(line):\n    return next(csv.reader([line]))\n';
const ROWS_WRONG = '"""Rows of a file."""\n\nfrom invoices.fields import split\n\n\ndef rows(text):\n    return [split(line) for line in text.splitlines()[1:]]\n';
const ROWS = '"""Rows of a file."""\n\nfrom invoices.fields import split\n\n\ndef rows(text):\n    lines = text.splitlines()[1:]\n    return [split(line) for line in lines if line.strip()]\n';
const TOTAL = '"""Sums over a file."""\n\nfrom invoices.rows import rows\n\n\ndef total(text):\n    return sum(int(row[-1]) for row in rows(text))\n';
const CHANGES = '# Changes\n\n## 1.2\n\n- A field in quotes may contain a comma.\n- The header and empty lines are not counted.\n- `total` adds up a file.\n\n## 1.1\n\n- Totals by customer.\n';

export const IMPORT = {
  task: 'Fix the CSV import: a comma in a quoted field splits it, the header is counted as a row, and invoices/total.py is missing. Add an entry to CHANGES.md.',
  checks: [CHECK],
  files: PROJECT,
};

const IMPORT_STEPS = [
  { name: 'Reproduce the failures', type: 'preparation', description: 'Run the tests and see which fail.' },
  { name: 'Read quoted fields', description: 'Use the csv module in invoices/fields.py.', files: ['invoices/fields.py'], after: [1], checks: [{ value: 'python3 -m unittest -q tests.test_fields' }] },
  { name: 'Leave the header out', description: 'invoices/rows.py: the first line is no row.', files: ['invoices/rows.py'], after: [1], checks: [{ value: 'python3 -m unittest -q tests.test_rows' }] },
  { name: 'Add up a file', description: 'Write invoices/total.py.', files: ['invoices/total.py'], after: [2, 3], checks: [{ value: 'python3 -m unittest -q tests.test_total' }] },
  { name: 'Write the change log', type: 'file_operation', files: ['CHANGES.md'], after: [2, 3], checks: [{ kind: 'text_matches', value: '## 1\\.2', path: 'CHANGES.md' }] },
  { name: 'Run all the tests', type: 'testing', after: [4, 5], checks: [{ value: CHECK }] },
];

/** A plan of six steps. The third fails its check, is undone, and succeeds on the second attempt. */
function importing(talk) {
  if (!talk.step) {
    return talk.messages.some((message) => message.role === 'assistant')
      ? { calls: submit(talk.task, ['a comma in quotes is part of the field', 'the header is no row', 'CHANGES.md has an entry'], IMPORT_STEPS) }
      : { text: 'I look at the code and the tests first.', calls: [['read_file', { path: 'invoices/rows.py' }], ['read_file', { path: 'invoices/fields.py' }]] };
  }
  switch (talk.step) {
    case 'Reproduce the failures':
      return talk.turns === 0 ? { text: 'I run the tests as they are.', calls: [['run_command', { command: `${CHECK} 2>&1 | tail -n 25` }]] } : { calls: [finish('Two tests fail, and one module is missing.')] };
    case 'Read quoted fields':
      return { text: 'The csv module reads quotes.', calls: [['write_file', { path: 'invoices/fields.py', content: FIELDS }], finish('csv reads the fields.')] };
    case 'Leave the header out':
      if (talk.last.includes('call change_steps')) {
        return { text: 'The empty line is a row too. The step has to name it.', calls: [['change_steps', { reason: 'an empty line is no row either', steps: [{ step: 's3', name: 'Leave out the header and empty lines', description: 'invoices/rows.py: neither the first line nor an empty line is a row.' }] }]] };
      }
      if (talk.turns === 0) return { text: 'I drop the first line.', calls: [['write_file', { path: 'invoices/rows.py', content: ROWS_WRONG }], finish('The header is gone.')] };
      return { text: 'The header is gone, so this should pass.', calls: [finish('The header is gone.'), finish('The header is gone.'), finish('The header is gone.')] };
    case 'Leave out the header and empty lines':
      return { text: 'I leave empty lines out too.', calls: [['write_file', { path: 'invoices/rows.py', content: ROWS }], finish('Header and empty lines are left out.')] };
    case 'Add up a file':
      return { text: 'The sum of the last column.', calls: [['write_file', { path: 'invoices/total.py', content: TOTAL }], finish('total adds up a file.')] };
    case 'Write the change log':
      return { calls: [['write_file', { path: 'CHANGES.md', content: CHANGES }], finish('The entry is there.')] };
    default:
      return talk.turns === 0 ? { calls: [['run_command', { command: CHECK }], finish('All tests pass.')] } : { calls: [finish('All tests pass.')] };
  }
}

/** Two steps that do not need each other, each with something to approve: a change of a file, and a command. */
export const RELEASE = {
  task: 'Set the version to 2.1.0 in version.py and make the archive dist/app.tar.',
  checks: ['grep -q 2.1.0 version.py && test -f dist/app.tar'],
  files: { 'version.py': '"""The version of the app."""\n\nNAME = "app"\nVERSION = "2.0.4"\nDATE = "2026-10-02"\n', 'app.py': 'from version import VERSION\n\nprint(VERSION)\n' },
  options: { approve: 'ask' },
};

function releasing(talk) {
  if (!talk.step) {
    return { calls: submit(talk.task, ['version.py says 2.1.0', 'dist/app.tar is there'], [
      { name: 'Set the version', files: ['version.py'], checks: [{ kind: 'text_matches', value: '2\\.1\\.0', path: 'version.py' }] },
      { name: 'Make the archive', type: 'command_execution', files: ['dist/app.tar'], checks: [{ kind: 'file_exists', value: 'dist/app.tar' }] },
    ]) };
  }
  if (talk.step === 'Set the version') {
    return talk.turns === 0 ? { text: 'One line changes.', calls: [['edit_file', { path: 'version.py', search: 'VERSION = "2.0.4"', replace: 'VERSION = "2.1.0"' }]] } : { calls: [finish('The version is 2.1.0.')] };
  }
  const command = talk.last.includes('the user said no') ? 'mkdir -p dist && tar cf dist/app.tar version.py app.py' : 'rm -rf dist && mkdir dist && tar cf dist/app.tar version.py app.py';
  return talk.turns === 0 || talk.last.includes('the user said no') ? { text: 'I pack both files.', calls: [['run_command', { command }]] } : { calls: [finish('The archive is there.')] };
}

/** A command that goes on until somebody steps in, and steps that wait for it. */
export const SLOW = {
  task: 'Wait for the service, then write ready.txt and done.txt.',
  checks: ['test -f done.txt'],
  files: { 'service.sh': 'sleep 600\n' },
};

function waiting(talk) {
  if (!talk.step) {
    return { calls: submit(talk.task, ['done.txt is there'], [
      { name: 'Wait for the service', type: 'command_execution', description: 'Run service.sh until it answers.', critical: false },
      { name: 'Write ready.txt', files: ['ready.txt'], after: [1], checks: [{ kind: 'file_exists', value: 'ready.txt' }] },
      { name: 'Write done.txt', files: ['done.txt'], after: [2], checks: [{ kind: 'file_exists', value: 'done.txt' }] },
    ]) };
  }
  if (talk.step === 'Wait for the service') return { text: 'I wait until it answers.', calls: [['run_command', { command: 'echo waiting for port 8080 && sh service.sh' }]] };
  const [, file] = /(\S+\.txt)/.exec(talk.step) ?? [];
  return file ? { calls: [['write_file', { path: file, content: 'yes\n' }], finish(`${file} is there.`)] } : { calls: [finish('Nothing to do.')] };
}

/** A task that cannot be done, in words that try to be HTML and to turn the text around. */
export const HOSTILE = {
  task: '<img src=x onerror=alert(1)> Make test_answer.py pass \u202ewithout changing it.',
  checks: [CHECK],
  files: { 'test_answer.py': 'import unittest\n\n\nclass Answer(unittest.TestCase):\n    def test_answer(self):\n        print("<script>alert(2)</script>")\n        self.assertEqual(6 * 9, 42)\n' },
};

function hostile(talk) {
  const name = 'Look for <b>the answer</b> \u202eexe.py';
  if (!talk.step) return { text: '<svg onload=alert(3)>', calls: submit(talk.task, ['the test passes'], [{ name, files: ['answer.py'], checks: [{ value: CHECK }] }]) };
  if (talk.last.includes('call change_steps')) return { calls: [['change_steps', { reason: '<i>another way</i>', steps: [{ step: 's1', name, description: 'Look again.' }] }]] };
  if (talk.turns === 0) return { text: '<img src=y onerror=alert(4)>', calls: [['write_file', { path: 'answer.py', content: 'ANSWER = 42\n' }], ['run_command', { command: "echo '<img src=z onerror=alert(5)>'; printf '\\033[31mred\\033[0m\\n'" }], finish('done')] };
  return { calls: [finish('done'), finish('done'), finish('done')] };
}

/** What the model says, by the task that it is given. */
export function story(talk) {
  const found = [[IMPORT, importing], [RELEASE, releasing], [SLOW, waiting], [HOSTILE, hostile]].find(([{ task }]) => talk.said.includes(task));
  // The plans that are given name their tools. A model is asked only after somebody has denied one.
  return found ? found[1](talk) : { text: 'There is no other way to do this.', calls: [['cannot', { reason: 'there is no other way' }]] };
}

const given = (steps, dependencies = []) => JSON.stringify({ plan: { steps: steps.map((step, sequence) => ({ sequence, ...step })), dependencies: dependencies.map(([step_id, depends_on]) => ({ step_id, depends_on })) } });

/** A plan that names its tools, so that its steps run beside each other and no model is asked. Three of them need a person. */
export const CONFIG = {
  task: 'Move the settings to config.toml and note it in NOTES.md.',
  checks: ['grep -q timeout config.toml'],
  files: { 'config.toml': '# Settings of the service\nport = 8080\nhost = "127.0.0.1"\n', 'NOTES.md': '# Notes\n\nThe settings are in settings.ini.\n', 'settings.ini': '[service]\ntimeout = 30\n' },
  plan: given([
    { id: 'look', name: 'Read the old settings', step_type: 'preparation', tool: 'read_file', parameters: { path: 'settings.ini' } },
    { id: 'config', name: 'Add the timeout', step_type: 'configuration', tool: 'edit_file', parameters: { path: 'config.toml', search: 'port = 8080\n', replace: 'port = 8080\ntimeout = 30\n' }, writes: ['config.toml'], description: 'config.toml gets the timeout of settings.ini.' },
    { id: 'notes', name: 'Note the move', step_type: 'file_operation', tool: 'write_file', parameters: { path: 'NOTES.md', content: '# Notes\n\nThe settings are in config.toml.\nsettings.ini is not read any more.\n' }, writes: ['NOTES.md'] },
    { id: 'clean', name: 'Remove the old file', step_type: 'cleanup', tool: 'run_command', parameters: { command: 'rm settings.ini && test ! -e settings.ini' }, critical: false },
  ], [['config', 'look'], ['notes', 'look'], ['clean', 'config'], ['clean', 'notes']]),
};

/** 500 steps that read a file each, in layers: hundreds of events a second. */
export const MANY = {
  task: 'Read 500 parts of the archive.',
  checks: ['test -f parts.txt'],
  files: { 'parts.txt': 'part\n'.repeat(500) },
  plan: given(
    Array.from({ length: 500 }, (_, i) => ({ id: `s${i}`, name: `Read part ${i}`, step_type: 'preparation', tool: 'read_file', parameters: { path: 'parts.txt', start_line: i + 1, end_line: i + 1 } })),
    Array.from({ length: 492 }, (_, i) => [`s${i + 8}`, `s${i}`]),
  ),
};
