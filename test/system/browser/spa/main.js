/** An app on the service’s own origin: signed in by the session cookie, or by OAuth as a public app. */
import { createAccountClient, createClient, createSignIn } from 'portico/client'

const at = id => document.getElementById(id)
const signIn = createSignIn({
  clientId: import.meta.env.VITE_CLIENT_ID,
  scopes: ['openid', 'offline_access', 'read:user', 'write:post'],
})
// Without a token the browser sends the session cookie.
const api = createClient({ token: refused => signIn.token(refused) })

const account = createAccountClient()

function item(list, text) {
  const shown = document.createElement('li')
  shown.textContent = text
  at(list).append(shown)
}

async function listen() {
  try {
    for await (const event of api.posts.subscribe()) item('events', event.data?.title)
  } catch (error) {
    item('events', `over: ${error.code}`)
  }
}

async function show() {
  try {
    const me = await api.me()
    at('user').textContent = `${me.name}, ${signIn.isSignedIn ? 'by OAuth' : 'by cookie'}`
    const { data } = await api.posts.list({ sort: '-id' })
    at('posts').replaceChildren()
    for (const { title } of data) item('posts', title)
    listen()
  } catch (error) {
    at('user').textContent = error.code
  }
}

at('sign-in').addEventListener('submit', async event => {
  event.preventDefault()
  const values = Object.fromEntries(new FormData(event.target))
  try {
    const { secondFactor } = await account.signIn(values)
    if (secondFactor) await secondFactor(prompt('Code'))
    await show()
  } catch (error) {
    at('user').textContent = error.message
  }
})
at('passkey').addEventListener('click', async () => {
  await account.signInWithPasskey()
  await show()
})
at('sign-up').addEventListener('submit', async event => {
  event.preventDefault()
  try {
    at('user').textContent = (await account.signUp(Object.fromEntries(new FormData(event.target)))).message
  } catch (error) {
    at('user').textContent = error.details.map(({ field, message }) => `${field}: ${message}`).join(' ')
  }
})
at('oauth').addEventListener('click', () => signIn.signIn())
at('write').addEventListener('submit', async event => {
  event.preventDefault()
  await api.posts.create({ title: new FormData(event.target).get('title') })
})
at('sign-out').addEventListener('click', async () => {
  await signIn.signOut()
  await account.signOut()
  at('user').textContent = 'signed out'
})

await signIn.handleRedirect()
await show()
