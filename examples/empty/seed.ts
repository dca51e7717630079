/** Sample data. `npm run seed` adds it once: run again, it adds nothing. */
import { serve } from 'portico'
import model from './model.ts'

const service = await serve(model, { listen: false, logLevel: 'warn' })
try {
  if (service.firstAdministrator) console.log('The first administrator:', service.firstAdministrator)
  const added = await service.data.transaction(async data => {
    const isThere = await data.users.first({ where: { email: 'ada@example.com' } })
    if (isThere) return 0
    await data.users.create({ name: 'Ada', email: 'ada@example.com' })
    return 1
  })
  console.log(`Added ${added} users.`)
} finally {
  await service.close()
}
