/** The answers of a service that lets nobody in: each of them is to stop a run at once. */
import { closedDoors as answers } from '../faults/request-faults.ts';

interface ClosedDoor {
  /** Whether it is closed to submissions only. */
  isForSubmissions: boolean;
  /** Whether the first answer is enough to know that nobody gets in; of 404s, each may be its job's own. */
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
