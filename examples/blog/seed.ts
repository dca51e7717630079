/** Sample posts. `npm run seed` adds them once: where there are posts, it adds nothing. */
import { serve } from 'portico'
import model from './model.ts'

const posts = [
  { title: 'Hello', body: 'The first post.' },
  { title: 'Second thoughts', body: 'Posts can be read by anyone, and edited by their authors.' },
]

const service = await serve(model, { listen: false, logLevel: 'warn' })
try {
  if (service.firstAdministrator) console.log('The first administrator:', service.firstAdministrator)
  const added = await service.data.transaction(async data => {
    if ((await data.posts.count()) > 0) return 0
    const author = await data.users.create({ name: 'Ada', email: 'ada@example.com' })
    for (const post of posts) await data.posts.create({ ...post, author_id: author.id })
    return posts.length
  })
  console.log(`Added ${added} posts.`)
} finally {
  await service.close()
}
