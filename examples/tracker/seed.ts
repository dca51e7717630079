/** A sample organisation. `npm run seed` adds it once: where there are organisations, it adds nothing. */
import { serve } from 'portico'
import model from './model.ts'

const titles = ['Dig', 'Sow', 'Water']

const service = await serve(model, { listen: false, logLevel: 'warn' })
try {
  if (service.firstAdministrator) console.log('The first administrator:', service.firstAdministrator)
  const added = await service.data.transaction(async data => {
    if ((await data.organizations.count()) > 0) return 0
    const ada = await data.users.create({ name: 'Ada', email: 'ada@example.com' })
    const { id: organization_id } = await data.organizations.create({ name: 'Garden Club' })
    await data.memberships.create({ organization_id, user_id: ada.id, role: 'admin' })
    const project = await data.projects.create({ organization_id, name: 'Vegetables' })
    for (const title of titles) await data.tasks.create({ project_id: project.id, title })
    return titles.length
  })
  console.log(`Added ${added} tasks.`)
} finally {
  await service.close()
}
