import type { ChildProcess } from 'node:child_process'

/** Waits until the service in a process listens. Returns its URL, and its output until then. */
export function untilListening(
  child: ChildProcess,
): Promise<{ readonly url: string; readonly output: string }> {
  return new Promise((resolve, reject) => {
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', chunk => {
        output += chunk
        const [, url] = /listening on (http:\/\/[^"]*:\d+)/.exec(output) ?? []
        if (url !== undefined) resolve({ url, output })
      })
    }
    child.on('exit', code => reject(new Error(`The service exited with ${code}:\n${output}`)))
  })
}
