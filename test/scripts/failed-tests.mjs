// Which tests of a results file (Vitest's JSON) failed, each with what it said first.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const { testResults } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const { name, message, status, assertionResults } of testResults) {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  for (const { fullName, failureMessages } of failed)
    print(`${file} > ${fullName}`, failureMessages.join('\n'));
  if (status === 'failed' && failed.length === 0) print(file, message);
}

function print(name, text) {
  const lines = text.split('\n').slice(0, 12);
  console.log(`\nFAILED ${name}\n${lines.map((line) => line.slice(0, 300)).join('\n')}`);
}
