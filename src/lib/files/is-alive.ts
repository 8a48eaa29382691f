/** Whether a process of this machine is still there. */

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // There is one, of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
