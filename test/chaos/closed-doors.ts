/** Answers of a service that rejects the key, the account or the endpoint. Each must stop a run at once. */
import { closedDoors as answers } from '../faults/request-faults.ts';

interface ClosedDoor {
  /** True if only submissions are rejected. */
  isForSubmissions: boolean;
  /**
   * True if the first answer proves that every request is rejected. A 404 does not, because it may concern only its
   * job.
   */
  isPlain: boolean;
  answer: (typeof answers)[keyof typeof answers]['instead'];
}

export const closedDoors: Record<string, ClosedDoor> = {
  'key-refused': everything('key-refused'),
  forbidden: everything('forbidden'),
  'out-of-credit': submissions('out-of-credit'),
  'key-refused-inside': submissions('key-refused-inside'),
  'endpoint-gone': { ...everything('endpoint-gone'), isPlain: false },
  redirect: submissions('redirect'),
};

function everything(name: keyof typeof answers): ClosedDoor {
  return { isForSubmissions: false, isPlain: true, answer: answers[name].instead };
}

function submissions(name: keyof typeof answers): ClosedDoor {
  return { ...everything(name), isForSubmissions: true };
}
