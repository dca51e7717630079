/** The README step by step: a project is created in this clone, served by `npm run dev`, and called. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findProgram } from '../programs.ts'
import { type RunningService, shell, startServing } from '../system/create/project.ts'
import { cleanEnvironment, root } from '../system/create/registry.ts'
import { examplesOf, fillIn } from './blocks.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-first-page-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the commands of the README work in order', async () => {
  const env = { ...cleanEnvironment(), npm_config_prefer_offline: 'true' }
  // Next to the clone is a folder that the test does not use.
  const project = join(folder, 'my-app')
  let service: RunningService | undefined
  let answers = 0
  try {
    for (const { command, answer } of examplesOf(readFileSync(join(root, 'README.md'), 'utf8'))) {
      if (command.startsWith('npm run create ')) {
        const [create = '', serve = assert.fail(command)] = command.split('\ncd ../my-app\n')
        const output = await shell(create.replace('../my-app', project), { cwd: root, env })
        assert.match(output, /^Next:$/m)
        service = await startServing(serve, { cwd: project, env })
        continue
      }
      const running: RunningService = service ?? assert.fail(command)
      const line = command
        .replaceAll('http://localhost:3000', running.url)
        .replace(/^curl /, `${findProgram('curl')} -s `)
      const real: unknown = JSON.parse(await shell(line, { cwd: project, env: running.env }))
      assert.deepEqual(real, fillIn(JSON.parse(answer ?? assert.fail(command)), real), command)
      answers++
    }
    const { url } = service ?? assert.fail('no command serves the project')
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    for (const path of ['/docs', '/docs/guides', '/graphql', '/account'])
      assert.ok(page.includes(`"${path}"`))
  } finally {
    await service?.stop()
  }
  assert.equal(answers, 3)
  assert.ok(existsSync(join(project, 'data')), 'the data is in the project')
})
