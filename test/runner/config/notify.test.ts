/**
 * The key `notify` sets which events each target receives. Error messages never contain its URLs, because
 * they are secrets.
 */
import { expect, it } from 'vitest';
import { configOf, problemsOf, withRequired } from './pipeline-file.ts';

const env = { HC_UUID: 'secret-uuid', SLACK_URL: 'https://hooks.slack.example/secret' };

it('reads targets with their events', () => {
  const text = `notify:
  - ping: https://hc-ping.example/\${HC_UUID}
  - slack: \${SLACK_URL}
    on: [halt, finish, {failures: 50}, {stall: 30m}]
  - webhook: https://example.com/hook
  - command: ./tell-me.sh
    on: [start]
`;
  expect(configOf(withRequired(text), { env }).notify).toEqual([
    {
      kind: 'ping',
      to: 'https://hc-ping.example/secret-uuid',
      rules: { isStart: true, isFinish: true, isHalt: false },
    },
    {
      kind: 'slack',
      to: env.SLACK_URL,
      rules: { isStart: false, isFinish: true, isHalt: true, failures: 50, stallMs: 1_800_000 },
    },
    {
      kind: 'webhook',
      to: 'https://example.com/hook',
      rules: { isStart: true, isFinish: true, isHalt: false },
    },
    { kind: 'command', to: './tell-me.sh', rules: { isStart: true, isFinish: false, isHalt: false } },
  ]);
});

it.each([
  ['{}', '7:9: notify is keys and values; expected a list of targets such as [{ping: https://…}]'],
  ['[{ping: ftp://x/secret-a}]', '7:17: notify[0].ping is not valid; expected an http(s) URL'],
  ['[{slack: "${HC_UUID}"}]', '7:18: notify[0].slack is not valid; expected an http(s) URL'],
  [
    '[{ping: http://a/secret-a, slack: http://b/secret-b}]',
    '7:10: notify[0] is keys and values; expected exactly one of ping, slack, webhook and command',
  ],
  [
    '[{on: [start]}]',
    '7:10: notify[0] is keys and values; expected exactly one of ping, slack, webhook and command',
  ],
  [
    '[{ping: http://a/secret-a, at: x}]',
    '7:36: the key "at" is unknown in notify[0]; expected ping, slack, webhook, command, on (at belongs under pricing)',
  ],
  [
    '[{command: x, on: [end]}]',
    '7:28: notify[0].on[0] is not valid; expected start, finish, halt, {failures: 50} or {stall: 30m}',
  ],
  [
    '[{command: x, on: [{stall: 5}]}]',
    '7:36: notify[0].on[0].stall is 5; expected a duration from 1s to 20d, such as 30s, 5m or 2h',
  ],
  [
    '[{command: x, on: [{failures: 0}]}]',
    '7:39: notify[0].on[0].failures is 0; expected failed attempts of the run, a whole number from 1 to 1000000',
  ],
])('%s', (notify, problem) => {
  const problems = problemsOf(withRequired(`notify: ${notify}`), { env });
  expect(problems).toEqual([problem]);
  expect(problems.join()).not.toContain('secret');
});
