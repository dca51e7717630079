/** The only script: for passkeys, which need one, and for buttons that copy. Everything else works without it. */

export const script = `'use strict'
const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0))
const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '')
const withIds = list => (list || []).map(item => ({ ...item, id: bytes(item.id) }))

async function optionsFor(kind, csrf) {
  const [basePath] = location.pathname.split(/\\/(?:account|oauth)(?:\\/|$)/)
  const response = await fetch(basePath + '/account/passkeys/' + kind, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf }),
  })
  if (!response.ok) throw new Error('no options')
  return response.json()
}

async function get(csrf) {
  const options = await optionsFor('get', csrf)
  const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: withIds(options.allowCredentials) }
  const credential = await navigator.credentials.get({ publicKey })
  const { authenticatorData, clientDataJSON, signature, userHandle } = credential.response
  const response = {
    authenticatorData: text(authenticatorData),
    clientDataJSON: text(clientDataJSON),
    signature: text(signature),
    userHandle: userHandle ? text(userHandle) : undefined,
  }
  return { id: credential.id, rawId: text(credential.rawId), type: credential.type, clientExtensionResults: {}, response }
}

async function create(csrf) {
  const options = await optionsFor('create', csrf)
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: withIds(options.excludeCredentials),
  }
  const credential = await navigator.credentials.create({ publicKey })
  const { attestationObject, clientDataJSON } = credential.response
  const transports = credential.response.getTransports ? credential.response.getTransports() : []
  const response = { attestationObject: text(attestationObject), clientDataJSON: text(clientDataJSON), transports }
  return { id: credential.id, rawId: text(credential.rawId), type: credential.type, clientExtensionResults: {}, response }
}

for (const part of window.PublicKeyCredential ? document.querySelectorAll('[data-passkey]') : []) {
  const form = part.querySelector('form')
  const [fault, known = fault] = part.querySelectorAll('[role=alert]')
  part.hidden = false
  part.querySelector('button').addEventListener('click', async () => {
    fault.hidden = known.hidden = true
    try {
      const ceremony = part.dataset.passkey === 'create' ? create : get
      form.elements.passkey.value = JSON.stringify(await ceremony(form.elements.csrf.value))
      form.submit()
    } catch (error) {
      const shown = error.name === 'InvalidStateError' ? known : fault
      shown.hidden = false
    }
  })
}

// Only pages of secure origins may write to the clipboard.
for (const button of navigator.clipboard ? document.querySelectorAll('[data-copy]') : []) {
  const label = button.textContent
  const source = document.getElementById(button.dataset.copy)
  button.hidden = false
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(source.value || source.textContent.trim())
    button.textContent = button.dataset.copied
    button.setAttribute('aria-live', 'polite')
    setTimeout(() => { button.textContent = label }, 2000)
  })
}
`
