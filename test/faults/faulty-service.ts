/** A stand-in of the service in which each fault that a test names occurs once. */
import type { HttpService } from '../fakes/http-service.ts';
import { answerHonestly } from '../fakes/job-server.ts';
import { completed, startStandIn } from '../e2e/stand-ins.ts';
import { noise } from '../runner/images/pictures.ts';
import type { Fields } from './answers.ts';
import { chance } from './chance.ts';
import { meet, type RequestFault } from './request-faults.ts';

interface Faults {
  /** Fault of the first submission. */
  run?: RequestFault | undefined;
  /** Fault of the first poll. */
  status?: RequestFault | undefined;
  /** Returns the status answer with which the first job ends instead of its picture. */
  end?: (picture: Buffer) => Fields;
}

/** Starts a service in which every job completes at once. The service stops with the test. */
export async function faultyService({ end, ...faults }: Faults): Promise<HttpService> {
  const picture = await noise(48, 32).png().toBuffer();
  const good = completed([{ rendered_image: picture.toString('base64'), seed: 4 }]);
  let jobs = 0;
  return startStandIn({
    // Ids are as long as real ones, so that half of an answer does not contain the whole id.
    idOf: (number) => `e1b2c3d4-5f60-4c77-9d3b-0a1b2c3d4e5f-u${number}`,
    plan: () => {
      const isFirst = ++jobs === 1;
      return { end: () => (isFirst && end !== undefined ? end(picture) : good) };
    },
    meet: (asked) => {
      const place = asked.operation === 'run' ? 'run' : 'status';
      const fault = faults[place];
      faults[place] = undefined;
      if (fault === undefined) return answerHonestly(asked);
      const answering = { ...asked, random: chance(7), elsewhere: 'https://elsewhere.invalid' };
      meet(fault, answering, () => asked.take().fields);
    },
  });
}
