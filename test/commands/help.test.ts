/**
 * Promise: `nightrender help` lists the topics of the manual and prints each, with a pager on a terminal. For
 * a mistyped topic it suggests the nearest.
 */
import { commandList } from '../../src/commands/command-line.ts';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { helpGroups, helpTopics } from '../../src/commands/help.ts';
import { inProcess, nightWith, root } from '../e2e/cli.ts';
import { firstTier, rest } from '../fakes/tier.ts';

firstTier.it('`help` lists all topics with their summaries', async () => {
  const { stdout } = await inProcess(['help']).exits(0);
  for (const [name, summary] of helpGroups.flatMap(([, topics]) => topics))
    expect(stdout).toMatch(new RegExp(`^  ${name} +${summary.replaceAll(/[.()]/g, '\\$&')}$`, 'm'));
  expect(stdout).not.toContain('\u001B');
});

firstTier.it('`help` prints a page as Markdown if there is no terminal', async () => {
  const { stdout } = await inProcess(['help', 'operators']).exits(0);
  const page = readFileSync(join(root, 'src/help/operators.md'), 'utf8');
  expect(stdout.trimEnd()).toBe(page.replaceAll(/<!--.*-->\n+/g, '').trimEnd());
});

firstTier.it.each(['states', 'failures', 'checkpoint'])(
  '`help` still finds a page by its earlier name %s',
  async (topic) => {
    const { stdout } = await inProcess(['help', topic]).exits(0);
    expect(stdout).toMatch(/^# States, failures and the checkpoint/);
    expect(helpTopics).not.toContain(topic);
  },
);

firstTier.it.each([
  ['manifst', 'there is no topic "manifst"; did you mean manifest?'],
  ['Money', 'there is no topic "Money"; did you mean money?'],
  ['retyr', 'there is no topic "retyr"; did you mean retry?'],
  ['../README', 'there is no topic "../README"; nightrender help lists the topics'],
])('`help` refuses the topic %s', async (topic, said) => {
  const { stderr } = await inProcess(['help', topic]).exits(2).printsOnly('');
  expect(stderr.trimEnd()).toMatch(new RegExp(`${said.replaceAll(/[.?]/g, '\\$&')}$`));
});

firstTier.it('no topic has the name of a command, because `help` explains both', () => {
  const commands = new Set(commandList().map(([name]) => name));
  expect(helpTopics.filter((topic) => commands.has(topic))).toEqual([]);
});

const hasScript = spawnSync('script', ['--version']).status === 0;

/** Returns the output on a terminal of 80 columns and 24 rows, and the folder in which the command ran. */
function onTerminal(topic: string, env: Record<string, string>, first = ''): { text: string; dir: string } {
  const night = nightWith({});
  const command = `stty cols 80 rows 24; ${first} exec ${process.execPath} ${join(root, 'dist/nightrender.cjs')} help ${topic}`;
  const { NO_COLOR: _none, FORCE_COLOR: _forced, CI: _ci, PAGER: _pager, ...clean } = process.env;
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    cwd: night.cwd,
    env: { ...clean, TERM: 'xterm-256color', ...env },
    encoding: 'utf8',
  });
  return { text: stdout.replaceAll('\r\n', '\n'), dir: night.cwd };
}

firstTier.it.skipIf(!hasScript)(
  '`help` gives a long page to the pager (skipped if there is no script)',
  () => {
    const { text, dir } = onTerminal('manifest', { PAGER: 'cat > paged.txt; echo left' });
    expect(text).toBe('left\n');
    expect(readFileSync(join(dir, 'paged.txt'), 'utf8')).toMatch(
      /^\p{Cc}\[1mManifest\p{Cc}\[22m\n\n {2}A manifest lists/u,
    );
  },
);

rest.it.skipIf(!hasScript)(
  '`help` does not give the pager a page that fits the terminal (skipped if there is no script)',
  () => {
    const { text } = onTerminal('console', { PAGER: 'cat > paged.txt; echo left' }, 'stty rows 200;');
    expect(text).toMatch(/The console/);
  },
);

rest.it.skipIf(!hasScript).each(['no-such-pager-is-there', 'cat', ''])(
  '`help` prints a long page if PAGER is %j (skipped if there is no script)',
  (PAGER) => {
    const { text } = onTerminal('manifest', { PAGER, NO_COLOR: '1' });
    expect(text).toMatch(/^Manifest\n\n[^]*gets its name back/m);
    expect(text).not.toContain('\u001B');
  },
);

rest.it.skipIf(!hasScript)(
  '`help` prints a long page if there is no pager at all (skipped if there is no script)',
  () => {
    const { text } = onTerminal('manifest', {}, 'PATH=/nowhere;');
    expect(text).toMatch(/gets its name back/);
  },
);
