//! A project and its task, by nothing but the functions and types that openapi-generator has made.
use client::apis::configuration::Configuration;
use client::apis::{organizations_api, projects_api, tasks_api};
use client::models::{FoundOrganizationInput, ProjectCreate, TaskCreate, TaskStatus, TaskUpdate};
use serde_json::json;
use std::env::var;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let configuration = Configuration {
        base_path: var("SERVICE").unwrap(),
        bearer_access_token: var("TOKEN").ok(),
        ..Configuration::default()
    };
    let engines = FoundOrganizationInput::new("Engines".to_string());
    let organization =
        organizations_api::found_organization(&configuration, engines, None, None, None).await.unwrap();
    let loom = ProjectCreate::new(organization.id, "Loom".to_string());
    let project = projects_api::create_project(&configuration, loom, None, None, None).await.unwrap();
    let weave = TaskCreate {
        status: Some(TaskStatus::TaskStatusDoing),
        ..TaskCreate::new(project.id, "Weave".to_string())
    };
    let created = tasks_api::create_task(&configuration, weave, None, None, None).await.unwrap();
    let change = TaskUpdate {
        status: Some(TaskStatus::TaskStatusDone),
        details: Some(None),
        ..TaskUpdate::new()
    };
    let updated = tasks_api::update_task(&configuration, created.id, change, None, None, None, None).await.unwrap();
    let listed = tasks_api::list_tasks_of_project(
        &configuration, project.id, None, None, None, None, None, None, None, None, None, None,
    )
    .await
    .unwrap();
    let titles: Vec<&String> = listed.data.iter().map(|task| &task.title).collect();
    tasks_api::trash_task(&configuration, created.id, None).await.unwrap();
    let trashed = tasks_api::get_task(&configuration, created.id, None, None, None).await.unwrap();
    print!(
        "{}",
        json!({
            "created": [json!(created.title), json!(created.status), json!(created.points)],
            "updated": [json!(updated.status), json!(updated.details)],
            "listed": titles,
            "trashed": trashed.deleted_at.is_some(),
        })
    );
}
