/** Unhandled rejections in the code of the model do not stop `portico start`, and the log names their origin. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { generateKey } from '../../../../src/identity/keys/key.ts'
import { until } from '../../../api/transports/service.ts'
import { startProcess } from '../../../system/processes/portico.ts'

const model = join(import.meta.dirname, 'stray-model.ts')

for (const workers of [1, 2]) {
  test(`unhandled rejections in the model are logged and do not stop the service, with ${workers} threads`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-stray-'))
    const key = generateKey()
    const service = await startProcess({
      folder,
      environment: {
        ...{ PORTICO_MODEL: model, DATABASE_URL: join(folder, 'test.db'), PORTICO_ADMIN_API_KEY: key },
        ...{ WEB_CONCURRENCY: String(workers), PORTICO_WORKERS: String(workers) },
        PORTICO_ADMIN_EMAIL: 'admin@example.com',
      },
    })
    try {
      const callAction = (name: string) => service.call(`/api/v1/notes/${name}`, { method: 'POST', key })
      assert.equal((await callAction('leave')).status, 204)
      assert.equal((await callAction('late')).status, 204)
      const mistaken = await callAction('mistake')
      assert.equal(mistaken.status, 500)
      assert.doesNotMatch(mistaken.text, /titel/)
      const logged = [
        /stray in an action/,
        /stray in a timer/,
        /stray in a reaction/,
        /data\.notes\.list: sort/,
      ]
      await until(() => logged.every(pattern => pattern.test(service.output())))
      const line = service
        .output()
        .split('\n')
        .find(line => line.includes('stray in a reaction'))
      assert.match(line ?? '', /stray-model\.ts/)
      assert.doesNotMatch(service.output(), /a worker has died/)
      const { json } = await service.call('/api/v1/notes', { key })
      assert.equal((json['data'] as unknown[]).length, 1)
    } finally {
      assert.equal(await service.end('SIGTERM'), 0)
      rmSync(folder, { recursive: true })
    }
  })
}
