//! The real Burn, asked by the tests of minburn.
//!
//!     minburn-burn [f32|f64|f16|bf16] < jobs.json > answers.json
//!
//! Jobs come as a JSON list on stdin and are done in order, for a process starts slower than most of them run; the
//! answers are a JSON list of the same length on stdout. The argument is the device's float dtype, which a process can
//! set only once. An answer is
//!
//!     {"ok": ...}    {"refused": "Burn's error"}    {"panicked": "Burn's panic"}
//!
//! Everything is done with Burn's public API; `burn-pack`, the crate behind its records, only lists files.

mod data;
mod models;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use burn::lr_scheduler::module_lr_scheduler::{ModuleLrScheduler, ModuleLrSchedulerConfig};
use burn::lr_scheduler::{LrSchedulerConfig, LrSchedulerRecord};
use burn::optim::{AdaGradConfig, AdamConfig, AdamWConfig, AdanConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::store::ModuleRecord;
use burn::tensor::{Device, FloatDType};
use burn_pack::Reader;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::data::{Data, listing, params};
use crate::models::{Cnn, Mlp, Model, Tied, Transformer};

/// Burn's config JSON under the optimizer's name. A new optimizer is a line here and one in `init`.
#[derive(Deserialize)]
enum OptimizerConfig {
    Sgd(SgdConfig),
    Adam(AdamConfig),
    AdamW(AdamWConfig),
    AdaGrad(AdaGradConfig),
    Adan(AdanConfig),
}

impl OptimizerConfig {
    fn init(&self) -> ModuleOptimizer {
        match self {
            Self::Sgd(config) => config.init(),
            Self::Adam(config) => config.init(),
            Self::AdamW(config) => config.init(),
            Self::AdaGrad(config) => config.init(),
            Self::Adan(config) => config.init(),
        }
    }
}

#[derive(Deserialize)]
struct Batch {
    x: Data,
    y: Data,
}

/// `{directory}/{model,optim,scheduler}-{epoch}.bpk`, as burn-train's file checkpointer names them.
#[derive(Deserialize)]
struct Checkpoint {
    directory: PathBuf,
    epoch: usize,
}

impl Checkpoint {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}-{}.bpk", self.epoch))
    }
}

/// A checkpoint's epoch is its number of steps: those of `from`, if there is one, count.
#[derive(Deserialize)]
struct Training {
    model: String,
    optimizer: OptimizerConfig,
    scheduler: LrSchedulerConfig,
    from: Option<Checkpoint>,
    batches: Vec<Batch>,
    directory: PathBuf,
    save: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Job {
    /// List a file as burn-pack reads it.
    Open { file: PathBuf },
    /// Load a model's record: its parameters, and what it predicts for `x`. `cast`: to the device's dtype.
    LoadModel { model: String, file: PathBuf, x: Option<Data>, #[serde(default)] cast: bool },
    /// Load an optimizer's record: what it would write again.
    LoadOptimizer { optimizer: OptimizerConfig, file: PathBuf },
    /// Load a schedule's record: what it would write again, and the next rates.
    LoadScheduler { scheduler: LrSchedulerConfig, file: PathBuf, steps: usize },
    /// Train one step a batch, from a checkpoint or from the start, and write checkpoints.
    Train(Training),
}

type Answer = Result<Value, String>;

/// Calls a function that is generic over the model with the model of that name.
macro_rules! with_model {
    ($name:expr, $function:ident($($argument:expr),*)) => {
        match $name.as_str() {
            "mlp" => $function::<Mlp>($($argument),*),
            "cnn" => $function::<Cnn>($($argument),*),
            "transformer" => $function::<Transformer>($($argument),*),
            "tied" => $function::<Tied>($($argument),*),
            other => panic!("this crate has no model {other:?}"),
        }
    };
}

fn text<E: ToString>(error: E) -> String {
    error.to_string()
}

fn run(job: Job, device: &Device) -> Answer {
    match job {
        Job::Open { file } => listing(Reader::from_file(file).map_err(text)?),
        Job::LoadModel { model, file, x, cast } => with_model!(model, load_model(&file, x, cast, device)),
        Job::LoadOptimizer { optimizer, file } => {
            let optim = optimizer.init().load(file).map_err(text)?;
            listing(Reader::from_bytes(optim.into_bytes().map_err(text)?).map_err(text)?)
        }
        Job::LoadScheduler { scheduler, file, steps } => load_scheduler(scheduler, &file, steps),
        Job::Train(training) => with_model!(training.model, train(training, device)),
    }
}

fn load_model<M: Model>(file: &Path, x: Option<Data>, cast: bool, device: &Device) -> Answer {
    let mut record = ModuleRecord::load(file).map_err(text)?;
    if cast {
        record = record.cast_to_module_dtype();
    }
    let model = M::new(device).try_load_record(record).map_err(text)?;
    let found = params(&model);
    let output = x.map(|x| Data::from(model.valid().predict(x.into(), &device.clone().inner()).into_data()));
    Ok(json!({"params": found, "output": output}))
}

fn schedule(config: LrSchedulerConfig) -> Result<ModuleLrScheduler, String> {
    ModuleLrSchedulerConfig::new(config).init()
}

fn load_scheduler(config: LrSchedulerConfig, file: &Path, steps: usize) -> Answer {
    let mut scheduler = schedule(config)?.load_record(LrSchedulerRecord::load(file).map_err(text)?);
    let bytes = scheduler.to_record().into_bytes().map_err(text)?;
    let rates: Vec<f64> = (0..steps).map(|_| scheduler.step().base()).collect();
    Ok(json!({"record": listing(Reader::from_bytes(bytes).map_err(text)?)?, "rates": rates}))
}

fn train<M: Model>(training: Training, device: &Device) -> Answer {
    let mut model = M::new(device);
    let mut optim = training.optimizer.init();
    let mut scheduler = schedule(training.scheduler)?;
    let mut step = 0;
    if let Some(from) = training.from {
        step = from.epoch;
        model = model.try_load_record(ModuleRecord::load(from.path("model")).map_err(text)?).map_err(text)?;
        optim = optim.load(from.path("optim")).map_err(text)?;
        scheduler = scheduler.load_record(LrSchedulerRecord::load(from.path("scheduler")).map_err(text)?);
    }
    std::fs::create_dir_all(&training.directory).map_err(text)?;
    let (mut steps, mut saved) = (Vec::new(), Map::new());
    let mut batches = training.batches.into_iter();
    loop {
        if training.save.contains(&step) {
            let to = Checkpoint { directory: training.directory.clone(), epoch: step };
            let _ = model.valid(); // commits the running statistics, as a training loop does before it saves
            saved.insert(step.to_string(), json!(params(&model)));
            model.clone().into_record().save(to.path("model")).map_err(text)?;
            optim.save(to.path("optim")).map_err(text)?;
            scheduler.to_record().save(to.path("scheduler")).map_err(text)?;
        }
        let Some(batch) = batches.next() else { break };
        let loss = model.loss(batch.x.into(), batch.y.into(), device);
        let value: f64 = loss.clone().into_scalar();
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        let lr = scheduler.step();
        steps.push(json!({"loss": value, "lr": lr.base()}));
        model = optim.step(lr, model, grads);
        step += 1;
    }
    Ok(json!({"steps": steps, "saved": saved}))
}

/// A panic is an answer too: it is how Burn refuses much.
fn answer(job: Value, device: &Device) -> Value {
    let job: Job = serde_json::from_value(job).unwrap_or_else(|error| {
        eprintln!("minburn-burn: a job is not understood: {error}");
        std::process::exit(2);
    });
    match catch_unwind(AssertUnwindSafe(|| run(job, device))) {
        Ok(Ok(value)) => json!({"ok": value}),
        Ok(Err(text)) => json!({"refused": text}),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
            json!({"panicked": text.unwrap_or_default()})
        }
    }
}

fn main() {
    let dtype = match std::env::args().nth(1).as_deref() {
        None | Some("f32") => FloatDType::F32,
        Some("f64") => FloatDType::F64,
        Some("f16") => FloatDType::F16,
        Some("bf16") => FloatDType::BF16,
        Some(other) => panic!("no float dtype {other:?}"),
    };
    let mut device = Device::flex();
    device.configure(dtype).expect("set before any tensor is made");
    device.seed(1);
    let device = device.autodiff();
    std::panic::set_hook(Box::new(|_| {})); // the answer says it
    let jobs: Vec<Value> = serde_json::from_reader(std::io::stdin().lock()).expect("a JSON list of jobs on stdin");
    let answers: Vec<Value> = jobs.into_iter().map(|job| answer(job, &device)).collect();
    serde_json::to_writer(std::io::stdout().lock(), &answers).expect("stdout takes the answers");
}
