/** `nightrender help`: prints a page of the manual, or lists its topics. */
import { readFileSync } from 'node:fs';
import { ConfigError } from '../lib/yaml/problem.ts';
import { didYouMean } from '../lib/text/closest.ts';
import { printManualPage, printTopics } from '../terminal/print-manual.ts';
import { helpGroups, helpTopics, topicList } from './help-topics.ts';
import { refuse } from './refuse.ts';

/** Returns the exit code. `commands` can be asked for as well, before this is called. */
export function help(topic: string, commands: string[]): number {
  if (topic === topicList) {
    printTopics(helpGroups);
    return 0;
  }
  if (!helpTopics.includes(topic)) return refuse(noTopic(topic, commands), undefined, false);
  printManualPage(readFileSync(new URL(`../help/${topic}.md`, import.meta.url), 'utf8'));
  return 0;
}

function noTopic(topic: string, commands: string[]): ConfigError {
  const hint = didYouMean(topic, [...helpTopics, ...commands]) ?? 'nightrender help lists the topics';
  return new ConfigError([{ where: '', text: `there is no topic ${JSON.stringify(topic)}; ${hint}` }]);
}
