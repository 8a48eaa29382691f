/** Promise: shells complete the commands and options that exist, and the manual page is valid. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, inProcess, root } from './cli.ts';

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

const lines: [string[], string][] = [
  [['l'], 'list'],
  [['list', 'pipeline.yaml', '--s'], '--state --search --starred'],
  [['list', 'pipeline.yaml', '--state', 'fa'], 'failed'],
  [['list', 'pipeline.yaml', '--state', '=', 'wi'], 'withdrawn'],
  [['retry', 'pipeline.yaml', '--kind', 'job-f'], 'job-failed'],
  [['status', 'pipeline.yaml', '--w'], '--watch'],
  [['completion', 'z'], 'zsh'],
  [['keys', 're'], 'revoke'],
  [['keys', 'add', 'attic', '--kind', 'w'], 'worker'],
  [['run', 'pipe'], ''],
];

it.skipIf(!has('bash')).each(lines)(
  'bash: %j is completed with %j (skipped if there is no bash)',
  async (words, expected) => {
    const { stdout: script } = await inProcess(['completion', 'bash']);
    const ask = 'COMP_WORDS=(nightrender "$@"); COMP_CWORD=$#; _nightrender; echo "${COMPREPLY[*]}"';
    const { stdout, stderr } = spawnSync('bash', ['-c', `${script}\n${ask}`, 'bash', ...words], {
      encoding: 'utf8',
    });
    expect([stdout, stderr]).toEqual([`${expected}\n`, '']);
  },
);

it.skipIf(!has('fish'))(
  'fish completes commands, values and files (skipped if there is no fish)',
  async () => {
    const { stdout: script } = await inProcess(['completion', 'fish']);
    const completed = (line: string): string[] => {
      const ask = `${script}\ncomplete -C ${JSON.stringify(line)}`;
      const { stdout } = spawnSync('fish', ['-c', ask], {
        cwd: folderWith({ 'pipeline.yaml': '' }),
        encoding: 'utf8',
      });
      return stdout.split('\n').flatMap((each) => each.split('\t')[0] || []);
    };
    expect(completed('nightrender l')).toEqual(['list']);
    expect(completed('nightrender list --state fa')).toEqual(['failed']);
    expect(completed('nightrender list pipe')).toEqual(['pipeline.yaml']);
  },
);

it.skipIf(!has('zsh'))('zsh can read its script (skipped if there is no zsh)', async () => {
  const { stdout: input } = await inProcess(['completion', 'zsh']);
  const { status, stderr } = spawnSync('zsh', ['-n'], { input, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

it('`completion` takes the shell from the environment, and asks for a shell if it has no script for that one', async () => {
  const named = await inProcess(['completion', 'bash']);
  await inProcess(['completion'], { env: { SHELL: '/usr/bin/bash' } }).printsOnly(named.stdout);
  await inProcess(['completion', 'bsh'])
    .fails(2, 'there is no script for "bsh"; did you mean bash?')
    .printsOnly('');
});

it.skipIf(!has('groff'))(
  'the manual page has no fault that groff finds (skipped if there is no groff)',
  () => {
    const args = ['-man', '-ww', '-Tutf8', '-P-cbou', '-rLL=72n', join(root, 'dist/nightrender.1')];
    const { stdout, stderr } = spawnSync('groff', args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    for (const usage of ['run [pipeline..]', 'export [pipeline] <dir>', 'status [pipeline]'])
      expect(stdout).toContain(`nightrender ${usage}`);
  },
);

it('an installation includes the manual page, which npm links only if package.json lists it', () => {
  const { man } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { man: unknown };
  expect(man).toEqual(['dist/nightrender.1']);
});
