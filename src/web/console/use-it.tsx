/** How programs use an endpoint: lines to copy, for the address at which its reader has come to the service. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EndpointForm } from '../../protocol/console-data.ts';
import { Choices } from '../shared/choices.tsx';
import { Copyable } from '../shared/text.tsx';
import { cardOf } from './endpoint-words.ts';
import { useService } from './service.ts';

type Way = 'curl' | 'python' | 'javascript' | 'yaml' | 'worker';

export function UseIt({ settings }: { settings: EndpointForm }): JSX.Element {
  const [way, setWay] = useState<Way>('curl');
  const isRemote = settings.remote === true;
  const options: [Way, string][] = [
    ['curl', 'curl'],
    ['python', 'Python'],
    ['javascript', 'JavaScript'],
    ['yaml', 'pipeline.yaml'],
    ...(isRemote ? [['worker', 'Worker'] satisfies [Way, string]] : []),
  ];
  const { label, lines } = ways[way];
  const example = cardOf(settings, useService().catalogue)?.example;
  const at = { base: location.origin, id: settings.id, input: inputText(example ?? anyExample) };
  return (
    <>
      <Choices label="Language" options={options} chosen={way} onChoose={setWay} />
      <Copyable key={way} label={label} text={lines(at).join('\n')} />
      <p class="hint">
        {way === 'worker' ? (
          <>
            <code>NIGHTRENDER_WORKER_KEY</code> is a key of the kind <em>worker</em>. The last line makes a
            folder of the worker’s own: releases 1.7.13 to 1.9.0 that share one stand still. Start the program
            by its full path.
          </>
        ) : (
          <>
            Put one of your <a href="#/keys">keys</a> into the environment variable{' '}
            <code>NIGHTRENDER_API_KEY</code>.
          </>
        )}
      </p>
    </>
  );
}

/** JSON that is an expression of all three languages, as no example has `true`, `null` or a `'`. */
function inputText(input: Record<string, unknown>): string {
  return JSON.stringify(input, null, 1)
    .replaceAll(/(?<=[{[])\n *|\n *(?=[}\]])/g, '')
    .replaceAll(/\n */g, ' ');
}

const anyExample = { prompt: 'A lighthouse on a cliff at dusk' };

interface At {
  base: string;
  id: string;
  input: string;
}

/** Each submits a job and shows what it is once it has ended, or after 90 s. */
const ways: Record<Way, { label: string; lines: (at: At) => string[] }> = {
  curl: {
    label: 'In a terminal',
    lines: ({ base, id, input }) => [
      `curl -X POST '${base}/v2/${id}/runsync' \\`,
      `  -H "Authorization: Bearer $NIGHTRENDER_API_KEY" \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '{"input": ${input}}'`,
    ],
  },
  python: {
    label: 'In Python, without packages',
    lines: ({ base, id, input }) => [
      'import json, os, urllib.request',
      '',
      'request = urllib.request.Request(',
      `    "${base}/v2/${id}/runsync",`,
      `    data=json.dumps({"input": ${input}}).encode(),`,
      '    headers={',
      `        "Authorization": f"Bearer {os.environ['NIGHTRENDER_API_KEY']}",`,
      '        "Content-Type": "application/json",',
      '    },',
      ')',
      'job = json.load(urllib.request.urlopen(request))',
      'print(job["status"], str(job.get("output", job.get("error")))[:200])',
    ],
  },
  javascript: {
    label: 'In JavaScript (Node 20 and later, as a module)',
    lines: ({ base, id, input }) => [
      `const response = await fetch("${base}/v2/${id}/runsync", {`,
      '  method: "POST",',
      '  headers: {',
      '    Authorization: `Bearer ${process.env.NIGHTRENDER_API_KEY}`,',
      '    "Content-Type": "application/json",',
      '  },',
      `  body: JSON.stringify({ input: ${input} }),`,
      '});',
      'const job = await response.json();',
      'console.log(job.status, JSON.stringify(job.output ?? job.error)?.slice(0, 200));',
    ],
  },
  yaml: {
    label: 'In pipeline.yaml',
    lines: ({ base, id }) => [
      'endpoint:',
      `  baseUrl: ${base}`,
      `  id: ${id}`,
      '  apiKey: ${NIGHTRENDER_API_KEY}',
    ],
  },
  // As the open-source worker SDK reads them; `$ID` and `$RUNPOD_POD_ID` are filled in by the worker.
  worker: {
    label: 'For workers elsewhere',
    lines: ({ base, id }) => [
      `export RUNPOD_ENDPOINT_ID='${id}'`,
      `export RUNPOD_POD_ID="$(hostname)-gpu$(echo "\${CUDA_VISIBLE_DEVICES:-any}" | tr , .)-$$"`,
      `export RUNPOD_AI_API_KEY="$NIGHTRENDER_WORKER_KEY"`,
      `export RUNPOD_WEBHOOK_GET_JOB='${base}/v2/${id}/job-take/$ID?gpu=any'`,
      `export RUNPOD_WEBHOOK_POST_OUTPUT='${base}/v2/${id}/job-done/$RUNPOD_POD_ID/$ID?gpu=any'`,
      `export RUNPOD_WEBHOOK_POST_STREAM='${base}/v2/${id}/job-stream/$RUNPOD_POD_ID/$ID?gpu=any'`,
      `export RUNPOD_WEBHOOK_PING='${base}/v2/${id}/ping/$RUNPOD_POD_ID?gpu=any'`,
      `export RUNPOD_SKIP_AUTO_SYSTEM_CHECKS=true`,
      `cd "$(mktemp -d)"`,
    ],
  },
};
