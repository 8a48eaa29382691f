// Prints a summary of a results file (Vitest's JSON): which tests failed, each with the start of its message, and why others were skipped.
// The name of a skipped test contains the reason, such as "(skipped if there is no chromium)". A skipped test without a reason counts as
// failed.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const skipped = new Map();
for (const { name, message, status, assertionResults } of testResults) {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  for (const { fullName, failureMessages } of failed)
    print(`${file} > ${fullName}`, failureMessages.join('\n'));
  if (status === 'failed' && failed.length === 0) print(file, message);
  for (const test of assertionResults.filter(({ status: is }) => is !== 'passed' && is !== 'failed')) {
    const reason = /\(skipped:? ([^]*?)\)/.exec(test.fullName)?.[1];
    if (reason === undefined) print(`${file} > ${test.fullName}`, 'is skipped, and its name says no reason');
    else skipped.set(reason, [...(skipped.get(reason) ?? []), file]);
  }
}
for (const [reason, files] of skipped)
  console.log(`SKIPPED ${files.length} × ${reason}: ${[...new Set(files)].join(', ')}`);

function print(name, text) {
  const lines = text.split('\n').slice(0, 12);
  console.log(`\nFAILED ${name}\n${lines.map((line) => line.slice(0, 300)).join('\n')}`);
  process.exitCode = 1;
}
