/** How programs use an endpoint: lines to copy. */
import type { JSX } from 'preact';
import type { EndpointForm } from '../../protocol/console-data.ts';
import { Copyable } from './copyable.tsx';
import { useService } from './service.ts';

export function UseIt({ settings: { id, workload } }: { settings: EndpointForm }): JSX.Element {
  const { url } = useService().overview;
  const base = url.replace(/\/+$/, '');
  return (
    <>
      <Copyable label="Address to submit to" text={`${base}/v2/${id}/run`} />
      <Copyable label="In a terminal" text={curlLines(base, id)} />
      <Copyable label="In pipeline.yaml" text={yamlLines(base, id)} />
      {workload.kind === 'remote' && (
        <>
          <p class="soft small-text">
            A worker elsewhere pulls jobs with a key of the kind <em>worker</em> and these variables in its
            environment.
          </p>
          <Copyable label="For workers" text={workerLines(base, id)} />
        </>
      )}
    </>
  );
}

function curlLines(base: string, id: string): string {
  return [
    `curl -X POST '${base}/v2/${id}/run' \\`,
    `  -H "Authorization: Bearer $NIGHTRENDER_API_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"input": {"scene": "A lighthouse on a cliff at dusk", "seed": 7}}'`,
  ].join('\n');
}

function yamlLines(base: string, id: string): string {
  return ['endpoint:', `  baseUrl: ${base}`, `  id: ${id}`, '  apiKey: ${NIGHTRENDER_API_KEY}'].join('\n');
}

/** As the open-source worker SDK reads them; `$ID` and `$RUNPOD_POD_ID` are filled in by the worker. */
function workerLines(base: string, id: string): string {
  const at = `${base}/v2/${id}`;
  return [
    `export RUNPOD_ENDPOINT_ID='${id}'`,
    `export RUNPOD_POD_ID="$(hostname)"`,
    `export RUNPOD_AI_API_KEY="$NIGHTRENDER_WORKER_KEY"`,
    `export RUNPOD_WEBHOOK_GET_JOB='${at}/job-take/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_POST_OUTPUT='${at}/job-done/$RUNPOD_POD_ID/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_POST_STREAM='${at}/job-stream/$RUNPOD_POD_ID/$ID?gpu=any'`,
    `export RUNPOD_WEBHOOK_PING='${at}/ping/$RUNPOD_POD_ID?gpu=any'`,
  ].join('\n');
}
