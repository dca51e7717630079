/** The model of the reactions that are measured: one that does nothing, one that reads and writes; `PORTICO_BENCH_REACTION`. */
import { anyone, collection, integer, model, on, role, text } from 'portico'

const reactions = {
  nothing: on('task.created', () => undefined),
  /** As one that keeps a sum: a read and a write. */
  writing: on('task.created', async ({ event, data }) => {
    const task = await data['tasks']?.get(event.item_id)
    await data['sums']?.create({ task: Number(task?.['id']) })
  }),
}
const name = process.env['PORTICO_BENCH_REACTION'] ?? 'nothing'

export default model(
  {
    tasks: collection({
      fields: { title: text() },
      access: { read: anyone, create: role('admin'), update: role('admin') },
    }),
    sums: collection({ fields: { task: integer() }, access: { read: anyone, create: role('admin') } }),
  },
  { reactions: name === 'writing' ? { writing: reactions.writing } : { nothing: reactions.nothing } },
)
