/**
 * Promise: one list, test/messages.txt, has every message of the program, so that people can review all of them at
 * once. `vitest -u` writes it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';

const src = resolve(import.meta.dirname, '../src');

it('test/messages.txt has every message of the program', async () => {
  const list = [...messagesByFolder()].map(([folder, messages]) =>
    [`# ${folder}`, '', ...[...messages].toSorted(), ''].join('\n'),
  );
  await expect(list.join('\n')).toMatchFileSnapshot('messages.txt');
});

/** Returns the messages of each folder of `src`, so that the list stays the same when a file moves within its folder. */
function messagesByFolder(): Map<string, Set<string>> {
  const byFolder = new Map<string, Set<string>>();
  for (const file of readdirSync(src, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const [folder = ''] = file.split('/');
    // People review the texts of console and gallery on the pages. The renderers' texts are words that they recognize
    // in prompts.
    if (!/\.[cm]?ts$/.test(file) || ['web', 'renderers'].includes(folder)) continue;
    const messages = byFolder.get(folder) ?? new Set();
    for (const text of textsOf(file)) if (isSentence(text)) messages.add(text);
    if (messages.size > 0) byFolder.set(folder, messages);
  }
  return byFolder;
}

/** Returns all string literals and templates of a file; `…` stands for a value that is filled in. */
function textsOf(file: string): string[] {
  const texts: string[] = [];
  const { program } = parseSync(file, readFileSync(join(src, file), 'utf8'));
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === 'string') texts.push(value);
    },
    TemplateLiteral: ({ quasis }) => {
      texts.push(quasis.map(({ value }) => value.cooked ?? '').join('…'));
    },
  }).visit(program);
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim());
}

/** Keywords that appear in capitals only in SQL. */
const sql =
  /\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|LOCK|PRAGMA|BEGIN|ATTACH|WHERE|FROM|VALUES|SET|AND|AS|IS|CASE|CAST|ORDER|LEVEL|TEXT|INTEGER|NULL)\b/;

/** True if a text has at least three words and is not code, a header or an example of a command line. */
function isSentence(text: string): boolean {
  const isCode = sql.test(text) || /^(\$0 |\S+\/)|[<{;]\/?\w+|\p{Cc}|-src\b|max-age/u.test(text);
  return !isCode && text.split(' ').filter((word) => /^\W*[a-z][a-z’']+\W*$/i.test(word)).length > 2;
}
