// Checks everything that must hold before a version is published, and prints a line for each. Exits with 1 if a check fails or cannot be
// made.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const maxTarballBytes = 2_000_000;
const required = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'dist/cli.js',
  'dist/LICENSES.txt',
  'dist/build.json',
];
const addresses = ['author', 'repository', 'bugs', 'homepage'];

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const run = (file, ...args) =>
  execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const about = read('package.json');
const { version } = about;
const folder = mkdtempSync(join(tmpdir(), 'release-'));

try {
  // The script `prepack` builds dist.
  const [tarball] = JSON.parse(run('npm', 'pack', '--json', '--pack-destination', folder));
  const { commit, bundled } = read('dist/build.json');
  const files = tarball.files.map(({ path }) => path);
  checkTag(commit);
  checkChangelog();
  checkTarball(tarball, files);
  checkLicences(bundled);
  checkAudit(bundled);
  const unsaid = addresses.filter((key) => about[key] === undefined);
  report(unsaid.length === 0, 'addresses', `package.json does not say: ${unsaid.join(', ')}`);
} finally {
  rmSync(folder, { recursive: true });
}

function report(holds, what, otherwise) {
  console.log(holds ? `ok       ${what}` : `missing  ${what}: ${otherwise}`);
  if (!holds) process.exitCode = 1;
}

function checkTag(commit) {
  const tags = run('git', 'tag', '--points-at', 'HEAD').split('\n');
  report(tags.includes(`v${version}`), 'tag', `HEAD is not tagged v${version}`);
  report(/^[0-9a-f]+$/.test(commit), 'commit', `it was built from ${commit}`);
  report(read('package-lock.json').version === version, 'lock', 'package-lock.json has another version');
}

function checkChangelog() {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const [, newest = ''] = /^## (.*)$/m.exec(changelog) ?? [];
  const holds = newest.startsWith(`${version} (`);
  report(holds, 'changelog', `its newest heading is "${newest}", not "${version} (date)"`);
}

function checkTarball({ size }, files) {
  report(size < maxTarballBytes, 'size', `${size} bytes of at most ${maxTarballBytes}`);
  const wanted = [...required, ...Object.values(about.bin), ...about.man];
  const lacking = wanted.filter((file) => !files.includes(file));
  report(lacking.length === 0, 'content', `it lacks ${lacking.join(', ')}`);
  const surplus = files.filter((file) => /^dist\/test\/|\.test\.|node_modules|\.env/.test(file));
  report(surplus.length === 0, 'content alone', `it holds ${surplus.join(', ')}`);
}

function checkLicences(bundled) {
  const texts = readFileSync('dist/LICENSES.txt', 'utf8');
  const lacking = bundled.filter((name) => !texts.includes(`${name.replace(/@([^@]+)$/, ' $1')} (`));
  report(lacking.length === 0, 'licences', `dist/LICENSES.txt lacks ${lacking.join(', ')}`);
}

/** Audits all packages, including bundled ones. After an installation, `npm audit` sees only packages that are not bundled. */
function checkAudit(bundled) {
  const installed = Object.entries({ ...about.dependencies, ...about.peerDependencies });
  const beside = installed.flatMap(([name, range]) => range.split(' || ').map((one) => `${name}@${one}`));
  const dependencies = [...bundled, ...beside].map((name, index) => [`audited-${index}`, `npm:${name}`]);
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ dependencies: Object.fromEntries(dependencies) }),
  );
  const npm = (...args) => spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
  npm('install', '--package-lock-only', '--ignore-scripts', '--no-audit');
  const { stdout, status } = npm('audit', '--json');
  const { error, message, vulnerabilities = {} } = JSON.parse(stdout || '{}');
  const found = Object.entries(vulnerabilities).map(([name, { severity }]) => `${name} (${severity})`);
  const silence = error === undefined && message === undefined ? undefined : (message ?? error.summary);
  const otherwise = found.length > 0 ? found.join(', ') : `the registry has not answered: ${silence}`;
  report(status === 0, `audit of ${dependencies.length} packages`, otherwise);
}
