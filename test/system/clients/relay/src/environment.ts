/** Relay's environment with stored documents, over HTTP and WebSocket. */
import { createClient } from 'graphql-ws'
import {
  Environment,
  type FetchFunction,
  Network,
  Observable,
  RecordSource,
  Store,
  type SubscribeFunction,
} from 'relay-runtime'

const { GRAPHQL_URL = '', TOKEN = '' } = process.env
const Authorization = `Bearer ${TOKEN}`

async function post(url: string | URL, body: object, method = 'POST'): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', Authorization }
  return fetch(url, { method, headers, body: JSON.stringify(body) })
}

const fetchFunction: FetchFunction = async ({ id }, variables) => {
  const answered = await post(GRAPHQL_URL, { documentId: `sha256:${id}`, variables })
  return answered.json()
}

export const socket = createClient({
  url: GRAPHQL_URL.replace('http', 'ws'),
  connectionParams: { Authorization },
})

const subscribeFunction: SubscribeFunction = ({ id }, variables) =>
  Observable.create(sink => {
    // The protocol of graphql-ws requires a string.
    const request = { query: '', documentId: `sha256:${id}`, variables }
    return socket.subscribe(request, {
      next: payload => sink.next(payload as never),
      error: cause => sink.error(new Error(JSON.stringify(cause))),
      complete: () => sink.complete(),
    })
  })

export const environment = new Environment({
  network: Network.create(fetchFunction, subscribeFunction),
  store: new Store(new RecordSource()),
  getDataID: ({ nodeId }) => nodeId,
})

/** Makes a change without Relay. */
export async function byRest(method: string, path: string, body: object): Promise<void> {
  const { ok, status } = await post(new URL(`/api/v1/${path}`, GRAPHQL_URL), body, method)
  if (!ok) throw new Error(`${method} ${path}: ${status}`)
}
