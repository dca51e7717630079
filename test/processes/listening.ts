import type { ChildProcess } from 'node:child_process'

/** The URL at which a service in a process listens, and its output until then. */
export function listening(child: ChildProcess): Promise<{ readonly url: string; readonly said: string }> {
  return new Promise((found, failed) => {
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', chunk => {
        said += chunk
        const [, url] = /listening on (http:\/\/[^"]*:\d+)/.exec(said) ?? []
        if (url !== undefined) found({ url, said })
      })
    }
    child.on('exit', code => failed(new Error(`The service exited with ${code}:\n${said}`)))
  })
}
