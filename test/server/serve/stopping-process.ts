/** A program that serves a model whose reaction never ends, and stops in an orderly way. Argument: the database file. */
import { anyone, collection, model, on, serve, string } from '../../../src/index.ts'

const stuck = model(
  {
    notes: collection({ fields: { title: string() }, access: { read: anyone, create: anyone } }),
  },
  {
    reactions: {
      stuck: on('note.created', () => {
        process.stdout.write('started\n')
        return new Promise(() => {})
      }),
    },
  },
)

const service = await serve(stuck, {
  database: process.argv[2] ?? '',
  host: '127.0.0.1',
  port: 0,
  logLevel: 'error',
  secretKeys: ['the-key-of-a-service-that-a-test-stops'],
})
if ((await service.data.notes.count()) === 0) await service.data.notes.create({ title: 'x' })
process.stdout.on('error', () => undefined)
process.once('SIGTERM', async () => {
  await service.close()
  process.stdout.write('closed\n')
})
